// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "read.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "util.h"

#define RECORD_HEADER_SIZE 8
/* struct perf_record_auxtrace: header, then the size of the trace that follows the record. */
#define AUXTRACE_SIZE 48
/* struct perf_record_header_tracing_data: header, then the size (32 bits) of the data after it. */
#define TRACING_DATA_SIZE 12
/* struct perf_pipe_file_header */
#define PIPE_HEADER_SIZE 16

/* struct perf_file_header of the perf tool. */
struct header {
	uint64_t magic, size, attr_size;
	struct perfdata_section attrs, data, types;
	uint64_t features[4];
};

struct perfdata_bytes perfdata_take(struct perfdata_cursor *cursor, uint64_t size)
{
	struct perfdata_bytes bytes = { cursor->at, size };

	if (cursor->short_of || size > cursor->left) {
		cursor->short_of = true;
		return (struct perfdata_bytes){};
	}
	cursor->at += size;
	cursor->left -= size;
	return bytes;
}

/* The number stays as it is if bytes are missing. */
static void take_number(struct perfdata_cursor *cursor, void *number, size_t size)
{
	struct perfdata_bytes bytes = perfdata_take(cursor, size);

	if (bytes.data)
		memcpy(number, bytes.data, size);
}

uint32_t perfdata_take_u32(struct perfdata_cursor *cursor)
{
	uint32_t value = 0;

	take_number(cursor, &value, sizeof(value));
	return value;
}

uint64_t perfdata_take_u64(struct perfdata_cursor *cursor)
{
	uint64_t value = 0;

	take_number(cursor, &value, sizeof(value));
	return value;
}

/* UINT64_MAX on overflow. */
static uint64_t end_of(const struct perfdata_section *section)
{
	uint64_t end;

	return __builtin_add_overflow(section->offset, section->size, &end) ? UINT64_MAX : end;
}

static bool is_inside(const struct perfdata_file *file, const struct perfdata_section *section)
{
	return end_of(section) <= file->size;
}

/* Reads the table after the data, with a section for each feature. False: truncated. */
static bool read_entry(const struct perfdata_file *file, unsigned int number,
		       struct perfdata_section *section)
{
	uint64_t table = end_of(&file->data);
	struct perfdata_section entry = { 0, sizeof(*section) };

	if (__builtin_add_overflow(table, number * sizeof(*section), &entry.offset) ||
	    !is_inside(file, &entry))
		return false;
	memcpy(section, file->bytes + entry.offset, sizeof(*section));
	return true;
}

static unsigned int count_features(const struct perfdata_file *file, unsigned int before)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < before; i++)
		nr += file->features[i / 64] >> i % 64 & 1;
	return nr;
}

/* The end of the last section. */
static uint64_t find_end(const struct perfdata_file *file)
{
	unsigned int nr = count_features(file, 64 * ARRAY_SIZE(file->features));
	struct perfdata_section section = { end_of(&file->data), nr * sizeof(section) };
	uint64_t end = end_of(&section);

	if (end_of(&file->attrs) > end)
		end = end_of(&file->attrs);
	for (unsigned int i = 0; i < nr && read_entry(file, i, &section); i++) {
		if (end_of(&section) > end)
			end = end_of(&section);
	}
	return end;
}

static int read_header(struct perfdata_file *file)
{
	struct header header = {};

	if (file->size < PIPE_HEADER_SIZE)
		return -EINVAL;
	memcpy(&header, file->bytes, file->size < sizeof(header) ? file->size : sizeof(header));
	/* Written to a pipe: attributes and features are records. */
	if (header.magic == PERFDATA_MAGIC && header.size == PIPE_HEADER_SIZE)
		return -ENOTSUP;
	if (header.magic != PERFDATA_MAGIC || header.size != sizeof(header) ||
	    file->size < header.size)
		return -EINVAL;
	file->attr_size = header.attr_size;
	file->attrs = header.attrs;
	file->data = header.data;
	memcpy(file->features, header.features, sizeof(file->features));
	file->whole = find_end(file);
	return 0;
}

int perfdata_map(struct perfdata_file *ret, int fd)
{
	struct perfdata_file file = {};
	struct stat st;
	void *bytes;
	int err;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || !st.st_size)
		return -EINVAL;
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	file.bytes = bytes;
	file.size = (uint64_t)st.st_size;
	err = read_header(&file);
	if (err)
		perfdata_unmap(&file);
	else
		*ret = file;
	return err;
}

void perfdata_unmap(struct perfdata_file *file)
{
	if (file->bytes)
		munmap((void *)file->bytes, file->size);
	*file = (struct perfdata_file){};
}

int perfdata_feature(const struct perfdata_file *file, unsigned int feature,
		     struct perfdata_section *section)
{
	if (!(file->features[feature / 64] >> feature % 64 & 1))
		return -ENOENT;
	if (!read_entry(file, count_features(file, feature), section) || !is_inside(file, section))
		return -EINVAL;
	return 0;
}

/* The size of the data that follows a record. False: the record is too short. */
static bool read_extra(const struct perfdata_record *record, uint64_t *size)
{
	uint32_t tracing_data;

	*size = 0;
	if (record->type == PERFDATA_RECORD_AUXTRACE) {
		if (record->size < AUXTRACE_SIZE)
			return false;
		memcpy(size, record->bytes + RECORD_HEADER_SIZE, sizeof(*size));
	} else if (record->type == PERFDATA_RECORD_TRACING_DATA) {
		if (record->size < TRACING_DATA_SIZE)
			return false;
		memcpy(&tracing_data, record->bytes + RECORD_HEADER_SIZE, sizeof(tracing_data));
		*size = tracing_data;
	}
	return true;
}

bool perfdata_next(const struct perfdata_file *file, uint64_t *at, struct perfdata_record *record)
{
	uint64_t end = end_of(&file->data) < file->size ? end_of(&file->data) : file->size;
	const uint8_t *bytes;
	uint64_t extra;

	if (*at > end || end - *at < RECORD_HEADER_SIZE)
		return false;
	bytes = file->bytes + *at;
	*record = (struct perfdata_record){ .bytes = bytes };
	memcpy(&record->type, bytes, sizeof(record->type));
	memcpy(&record->misc, bytes + 4, sizeof(record->misc));
	memcpy(&record->size, bytes + 6, sizeof(record->size));
	if (record->size < RECORD_HEADER_SIZE || record->size > end - *at)
		return false;
	if (!read_extra(record, &extra) || extra > end - *at - record->size)
		return false;
	if (record->type == PERFDATA_RECORD_AUXTRACE) {
		record->trace = bytes + record->size;
		record->trace_size = extra;
	}
	*at += record->size + extra;
	return true;
}
