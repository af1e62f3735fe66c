// SPDX-License-Identifier: GPL-2.0-only
/* The formats of tracepoints: from the header of a trace.dat file, version 0.4 to 0.6, to
 * libtraceevent. */
#include "events/tracepoints.h"

#include <ctype.h>
#include <endian.h>
#include <event-parse.h>
#include <inttypes.h>
#include <string.h>

#include "array.h"
#include "text.h"

#define MAGIC "\027\010\104tracing"
/* The number of possible IDs. */
#define FORMATS_MAX (1 << 16)

static uint8_t take_tracing_u8(struct perfdata_cursor *cursor)
{
	struct perfdata_bytes bytes = perfdata_take(cursor, 1);

	return bytes.data ? *bytes.data : 0;
}

/* The string up to its NUL. */
static const char *take_tracing_string(struct perfdata_cursor *reader)
{
	const uint8_t *end = reader->short_of ? NULL : memchr(reader->at, '\0', reader->left);

	if (!end) {
		reader->short_of = true;
		return "";
	}
	return (const char *)perfdata_take(reader, (uint64_t)(end - reader->at) + 1).data;
}

static int add_event_format(struct tracing_data *data, const char *system,
			    struct perfdata_bytes text)
{
	static const char key[] = "\nID: ";
	struct tracing_format format = { .system = system, .text = text };
	const uint8_t *end = text.data + text.size;
	const uint8_t *at = memmem(text.data, text.size, key, sizeof(key) - 1);

	/* The number after the first line that begins with `ID: `. */
	if (!at)
		return 0;
	for (at += sizeof(key) - 1; at < end && *at >= '0' && *at <= '9' && format.id < UINT32_MAX;
	     at++)
		format.id = 10 * format.id + (uint64_t)(*at - '0');
	if (data->nr == FORMATS_MAX)
		return -EINVAL;
	if (array_grow(&data->formats, data->nr, sizeof(format)))
		return -ENOMEM;
	data->formats[data->nr++] = format;
	return 0;
}

static int read_system_formats(struct tracing_data *data, struct perfdata_cursor *reader,
			       const char *system)
{
	uint64_t nr = perfdata_take_u32(reader);
	int err = 0;

	for (uint64_t i = 0; i < nr && !err && !reader->short_of; i++) {
		struct perfdata_bytes text = perfdata_take(reader, perfdata_take_u64(reader));

		if (text.data)
			err = add_event_format(data, system, text);
	}
	return err;
}

static int read_tracing_header(struct tracing_data *data, struct perfdata_cursor *reader)
{
	struct perfdata_bytes magic = perfdata_take(reader, sizeof(MAGIC) - 1);
	uint64_t big_endian;

	if (!magic.data || memcmp(magic.data, MAGIC, magic.size))
		return -EINVAL;
	take_tracing_string(reader);
	big_endian = take_tracing_u8(reader);
	data->long_size = take_tracing_u8(reader);
	perfdata_take_u32(reader);
	if (big_endian != (BYTE_ORDER == BIG_ENDIAN))
		return -ENOTSUP;
	/* header_page, header_event: ftrace's rings, unused by perf. */
	for (int i = 0; i < 2; i++) {
		take_tracing_string(reader);
		perfdata_take(reader, perfdata_take_u64(reader));
	}
	return reader->short_of || (data->long_size != 4 && data->long_size != 8) ? -EINVAL : 0;
}

static int compare_format_ids(const void *a, const void *b)
{
	const struct tracing_format *x = a, *y = b;

	return array_compare(x->id, y->id);
}

int tracing_data_read(struct tracing_data *ret, const struct perfdata_file *file)
{
	struct tracing_data data = {};
	struct perfdata_section section;
	struct perfdata_cursor reader;
	uint64_t nr = 0;
	int err = perfdata_feature(file, PERFDATA_FEATURE_TRACING_DATA, &section);

	if (err)
		return err;
	reader = (struct perfdata_cursor){ file->bytes + section.offset, section.size, false };
	err = read_tracing_header(&data, &reader);
	if (!err) {
		err = read_system_formats(&data, &reader, "ftrace");
		nr = perfdata_take_u32(&reader);
	}
	for (uint64_t i = 0; i < nr && !err && !reader.short_of; i++)
		err = read_system_formats(&data, &reader, take_tracing_string(&reader));
	/* The kernel's symbols and strings, for print formats. */
	perfdata_take(&reader, perfdata_take_u32(&reader));
	data.strings = perfdata_take(&reader, perfdata_take_u32(&reader));
	if (!err && reader.short_of)
		err = -EINVAL;
	if (err) {
		tracing_data_release(&data);
		return err;
	}
	if (data.nr)
		qsort(data.formats, data.nr, sizeof(*data.formats), compare_format_ids);
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

	return data->nr ? bsearch(&key, data->formats, data->nr, sizeof(key), compare_format_ids)
			: NULL;
}

bool tracing_data_string(const struct tracing_data *data, uint64_t address, char *text, size_t size)
{
	const uint8_t *at, *end;
	char key[32];

	/* Lines such as `0xffff800081234560 : "Rescheduling interrupts"` */
	snprintf(key, sizeof(key), "0x%" PRIx64 " : \"", address);
	text[0] = '\0';
	at = data->strings.size ? memmem(data->strings.data, data->strings.size, key, strlen(key))
				: NULL;
	if (!at)
		return false;
	at += strlen(key);
	end = memchr(at, '"', data->strings.size - (size_t)(at - data->strings.data));
	if (!end)
		return false;
	snprintf(text, size, "%.*s", (int)(end - at), (const char *)at);
	return true;
}

#define NUMBER_MAX 6 /* digits */
/* Maximum size of an event: offsets in it have 16 bits. */
#define RAW_MAX (1 << 16)
#define FORMAT_MAX (64 << 10)

struct event_format {
	struct tep_handle *tep; /* one per format, so that a damaged format affects no other */
	struct tep_event *event;
};

void event_format_free(struct event_format *format)
{
	if (!format)
		return;
	tep_free(format->tep);
	free(format);
}

struct text {
	const char *at, *end;
};

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static void skip_word_chars(struct text *text)
{
	while (text->at < text->end && is_word_char(*text->at))
		text->at++;
}

static bool skip_expected_text(struct text *text, const char *expected)
{
	size_t length = strlen(expected);

	if ((size_t)(text->end - text->at) < length || memcmp(text->at, expected, length))
		return false;
	text->at += length;
	return true;
}

static bool skip_number_digits(struct text *text)
{
	const char *begin = text->at;

	while (text->at < text->end && isdigit((unsigned char)*text->at))
		text->at++;
	return text->at > begin && text->at - begin <= NUMBER_MAX;
}

/* Such as `unsigned int vec`, `char comm[16]`, `__data_loc char[] name`: a type and a name. */
static bool skip_declaration(struct text *text)
{
	unsigned int words = 0;

	while (text->at < text->end && *text->at != ';') {
		if (is_word_char(*text->at)) {
			skip_word_chars(text);
			words++;
		} else if (*text->at == '[' && words) {
			text->at++;
			skip_word_chars(text);
			if (!skip_expected_text(text, "]"))
				return false;
		} else if (words && (*text->at == ' ' || *text->at == '*')) {
			text->at++;
		} else {
			return false;
		}
	}
	return words >= 2;
}

static bool skip_field_line(struct text *text)
{
	return skip_declaration(text) && skip_expected_text(text, ";\toffset:") &&
	       skip_number_digits(text) && skip_expected_text(text, ";\tsize:") &&
	       skip_number_digits(text) && skip_expected_text(text, ";") &&
	       (!skip_expected_text(text, "\tsigned:") ||
		(skip_number_digits(text) && skip_expected_text(text, ";"))) &&
	       skip_expected_text(text, "\n");
}

/* Whether the part before `print fmt:` has the kernel's layout: a name, an ID, fields. */
static bool has_plain_layout(const char *bytes, size_t size)
{
	struct text text = { bytes, bytes + size };

	if (!skip_expected_text(&text, "name: "))
		return false;
	skip_word_chars(&text);
	if (!skip_expected_text(&text, "\nID: ") || !skip_number_digits(&text) ||
	    !skip_expected_text(&text, "\nformat:\n"))
		return false;
	while (text.at < text.end) {
		if (skip_expected_text(&text, "\tfield:") ? !skip_field_line(&text)
							  : !skip_expected_text(&text, "\n"))
			return false;
	}
	return true;
}

static bool fields_are_possible(const struct tep_event *event)
{
	const struct tep_format_field *lists[] = { event->format.common_fields,
						   event->format.fields };

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		for (const struct tep_format_field *field = lists[i]; field; field = field->next) {
			if (field->offset < 0 || field->size < 0 || field->offset >= RAW_MAX ||
			    field->size >= RAW_MAX - field->offset)
				return false;
		}
	}
	return tep_find_common_field((struct tep_event *)event, "common_type");
}

#define PRINT "print fmt:"

/* Size of the part before the print format; 0: none. */
static size_t find_print_format(const struct perfdata_bytes *text)
{
	const uint8_t *print = memmem(text->data, text->size, "\n" PRINT, strlen("\n" PRINT));

	return print && text->size <= FORMAT_MAX ? (size_t)(print - text->data) + 1 : 0;
}

int event_format_new(struct event_format **ret, const struct tracing_data *data,
		     const struct tracing_format *text)
{
	struct event_format *format = calloc(1, sizeof(*format));
	const char *bytes = (const char *)text->text.data;
	size_t head = find_print_format(&text->text);
	_cleanup_free_ char *copy = NULL;
	int err = -ENOMEM;

	if (!format)
		return err;
	/* Otherwise libtraceevent prints warnings on stderr. */
	tep_set_loglevel(TEP_LOG_NONE);
	if (!head || !has_plain_layout(bytes, head)) {
		err = -EINVAL;
		goto fail;
	}
	/* libtraceevent trusts print formats, which nobody needs: it gets an empty one. */
	copy = strfmt("%.*s" PRINT " \"\"\n", (int)head, bytes);
	format->tep = tep_alloc();
	if (!copy || !format->tep)
		goto fail;
	tep_set_long_size(format->tep, data->long_size);
	tep_set_page_size(format->tep, 4096);
	err = tep_parse_event(format->tep, copy, strlen(copy), text->system);
	if (err) {
		err = err == TEP_ERRNO__MEM_ALLOC_FAILED ? -ENOMEM : -EINVAL;
		goto fail;
	}
	format->event = tep_get_first_event(format->tep);
	err = -EINVAL;
	if (!format->event || format->event->flags & TEP_EVENT_FL_FAILED || !format->event->name ||
	    format->event->id < 0 || (uint64_t)format->event->id != text->id ||
	    !fields_are_possible(format->event))
		goto fail;
	*ret = format;
	return 0;
fail:
	event_format_free(format);
	return err;
}

const char *event_format_name(const struct event_format *format)
{
	return format->event->name;
}

static bool is_inside_record(const struct perfdata_bytes *raw, uint64_t offset, uint64_t size)
{
	return offset <= raw->size && size <= raw->size - offset;
}

static bool read_field_number(const struct tep_format_field *field,
			      const struct perfdata_bytes *raw, uint64_t *value)
{
	unsigned int bits = 8 * (unsigned int)field->size;

	if (field->size > 8 || (field->size & (field->size - 1)) || !field->size ||
	    !is_inside_record(raw, (uint64_t)field->offset, (uint64_t)field->size))
		return false;
	*value = tep_read_number(field->event->tep, raw->data + field->offset, field->size);
	if (field->flags & TEP_FIELD_IS_SIGNED && bits < 64 && *value >> (bits - 1))
		*value |= UINT64_MAX << bits;
	return true;
}

bool event_format_number(const struct event_format *format, const struct perfdata_bytes *raw,
			 const char *name, uint64_t *value)
{
	const struct tep_format_field *field = tep_find_any_field(format->event, name);

	return field && !(field->flags & TEP_FIELD_IS_ARRAY) &&
	       read_field_number(field, raw, value);
}

bool event_format_offset(const struct event_format *format, const char *name, uint64_t *offset)
{
	const struct tep_format_field *field = tep_find_any_field(format->event, name);

	/* Checked by fields_are_possible() */
	*offset = field ? (uint64_t)field->offset : 0;
	return field;
}

/* Finds the bytes of an array. The field of a dynamic array has offset and size. */
static bool find_field_array(const struct tep_format_field *field, const struct perfdata_bytes *raw,
			     uint64_t *offset, uint64_t *size)
{
	uint64_t place;

	*offset = (uint64_t)field->offset;
	*size = (uint64_t)field->size;
	if (field->flags & TEP_FIELD_IS_DYNAMIC) {
		if (field->size != 4 || !read_field_number(field, raw, &place))
			return false;
		if (!(field->flags & TEP_FIELD_IS_RELATIVE))
			*offset = 0;
		else
			*offset += *size;
		*offset += place & 0xffff;
		*size = place >> 16 & 0xffff;
	}
	return is_inside_record(raw, *offset, *size);
}

bool event_format_text(const struct event_format *format, const struct perfdata_bytes *raw,
		       const char *name, char *text, size_t size)
{
	const struct tep_format_field *field = tep_find_any_field(format->event, name);
	uint64_t offset, length;

	text[0] = '\0';
	if (!field || !(field->flags & TEP_FIELD_IS_ARRAY) ||
	    !find_field_array(field, raw, &offset, &length))
		return false;
	snprintf(text, size, "%.*s", (int)length, (const char *)raw->data + offset);
	return true;
}

/* Its words are of the recorded machine, whose byte order is that of this one: little-endian. */
bool event_format_cpu(const struct event_format *format, const struct perfdata_bytes *raw,
		      const char *name, int cpu, bool *is_set)
{
	const struct tep_format_field *field = tep_find_any_field(format->event, name);
	uint64_t offset, size;

	if (!field || !(field->flags & TEP_FIELD_IS_DYNAMIC) || cpu < 0 ||
	    !find_field_array(field, raw, &offset, &size))
		return false;
	*is_set = (uint64_t)cpu / 8 < size &&
		  raw->data[offset + (unsigned int)cpu / 8] >> cpu % 8 & 1;
	return true;
}
