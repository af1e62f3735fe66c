// SPDX-License-Identifier: GPL-2.0-only
/* The header of a trace.dat file, version 0.4 to 0.6. */
#include "events/event_format.h"

#include <endian.h>
#include <string.h>

#include "array.h"

#define MAGIC "\027\010\104tracing"
/* The number of possible IDs. */
#define FORMATS_MAX (1 << 16)

static uint8_t take_u8(struct perfdata_cursor *cursor)
{
	struct perfdata_bytes bytes = perfdata_take(cursor, 1);

	return bytes.data ? *bytes.data : 0;
}

/* The string up to its NUL. */
static const char *take_string(struct perfdata_cursor *reader)
{
	const uint8_t *end = reader->short_of ? NULL : memchr(reader->at, '\0', reader->left);

	if (!end) {
		reader->short_of = true;
		return "";
	}
	return (const char *)perfdata_take(reader, (uint64_t)(end - reader->at) + 1).data;
}

/* The number after the first line that begins with `ID: `. */
static bool find_id(const struct perfdata_bytes *text, uint64_t *id)
{
	static const char key[] = "\nID: ";
	const uint8_t *end = text->data + text->size;
	const uint8_t *at = memmem(text->data, text->size, key, sizeof(key) - 1);

	if (!at)
		return false;
	*id = 0;
	for (at += sizeof(key) - 1; at < end && *at >= '0' && *at <= '9' && *id < UINT32_MAX; at++)
		*id = 10 * *id + (uint64_t)(*at - '0');
	return true;
}

static int add_format(struct tracing_data *data, const char *system, struct perfdata_bytes text)
{
	struct tracing_format format = { .system = system, .text = text };

	if (!find_id(&text, &format.id))
		return 0;
	if (data->nr == FORMATS_MAX)
		return -EINVAL;
	if (array_grow(&data->formats, data->nr, sizeof(format)))
		return -ENOMEM;
	data->formats[data->nr++] = format;
	return 0;
}

static int read_system(struct tracing_data *data, struct perfdata_cursor *reader,
		       const char *system)
{
	uint64_t nr = perfdata_take_u32(reader);
	int r = 0;

	for (uint64_t i = 0; i < nr && !r && !reader->short_of; i++) {
		struct perfdata_bytes text = perfdata_take(reader, perfdata_take_u64(reader));

		if (text.data)
			r = add_format(data, system, text);
	}
	return r;
}

static int read_formats(struct tracing_data *data, struct perfdata_cursor *reader)
{
	int r = read_system(data, reader, "ftrace");
	uint64_t nr = perfdata_take_u32(reader);

	for (uint64_t i = 0; i < nr && !r && !reader->short_of; i++)
		r = read_system(data, reader, take_string(reader));
	return r;
}

static int read_head(struct tracing_data *data, struct perfdata_cursor *reader)
{
	struct perfdata_bytes magic = perfdata_take(reader, sizeof(MAGIC) - 1);
	uint64_t big_endian;

	if (!magic.data || memcmp(magic.data, MAGIC, magic.size))
		return -EINVAL;
	take_string(reader);
	big_endian = take_u8(reader);
	data->long_size = take_u8(reader);
	perfdata_take_u32(reader);
	if (big_endian != (BYTE_ORDER == BIG_ENDIAN))
		return -ENOTSUP;
	/* header_page, header_event: ftrace's rings, unused by perf. */
	for (int i = 0; i < 2; i++) {
		take_string(reader);
		perfdata_take(reader, perfdata_take_u64(reader));
	}
	return reader->short_of || (data->long_size != 4 && data->long_size != 8) ? -EINVAL : 0;
}

static int compare_ids(const void *a, const void *b)
{
	const struct tracing_format *x = a, *y = b;

	return array_compare(x->id, y->id);
}

int tracing_data_read(struct tracing_data *ret, const struct perfdata_file *file)
{
	struct tracing_data data = {};
	struct perfdata_section section;
	struct perfdata_cursor reader;
	int r = perfdata_feature(file, PERFDATA_FEATURE_TRACING_DATA, &section);

	if (r)
		return r;
	reader = (struct perfdata_cursor){ file->bytes + section.offset, section.size, false };
	r = read_head(&data, &reader);
	if (!r)
		r = read_formats(&data, &reader);
	/* The kernel's symbols and strings, for print formats. */
	perfdata_take(&reader, perfdata_take_u32(&reader));
	perfdata_take(&reader, perfdata_take_u32(&reader));
	if (!r && reader.short_of)
		r = -EINVAL;
	if (r) {
		tracing_data_release(&data);
		return r;
	}
	if (data.nr)
		qsort(data.formats, data.nr, sizeof(*data.formats), compare_ids);
	*ret = data;
	return 0;
}

void tracing_data_release(struct tracing_data *data)
{
	free(data->formats);
	*data = (struct tracing_data){};
}

const struct tracing_format *tracing_data_find(const struct tracing_data *data, uint64_t id)
{
	const struct tracing_format key = { .id = id };

	return data->nr ? bsearch(&key, data->formats, data->nr, sizeof(key), compare_ids) : NULL;
}
