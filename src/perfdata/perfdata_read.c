// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "perfdata_read.h"

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
static void take_number_bytes(struct perfdata_cursor *cursor, void *number, size_t size)
{
	struct perfdata_bytes bytes = perfdata_take(cursor, size);

	if (bytes.data)
		memcpy(number, bytes.data, size);
}

uint32_t perfdata_take_u32(struct perfdata_cursor *cursor)
{
	uint32_t value = 0;

	take_number_bytes(cursor, &value, sizeof(value));
	return value;
}

uint64_t perfdata_take_u64(struct perfdata_cursor *cursor)
{
	uint64_t value = 0;

	take_number_bytes(cursor, &value, sizeof(value));
	return value;
}

/* UINT64_MAX on overflow. */
static uint64_t section_end(const struct perfdata_section *section)
{
	uint64_t end;

	return __builtin_add_overflow(section->offset, section->size, &end) ? UINT64_MAX : end;
}

static bool section_is_inside(const struct perfdata_file *file,
			      const struct perfdata_section *section)
{
	return section_end(section) <= file->size;
}

/* Reads the table after the data, with a section for each feature. False: truncated. */
static bool read_feature_entry(const struct perfdata_file *file, unsigned int number,
			       struct perfdata_section *section)
{
	uint64_t table = section_end(&file->data);
	struct perfdata_section entry = { 0, sizeof(*section) };

	if (__builtin_add_overflow(table, number * sizeof(*section), &entry.offset) ||
	    !section_is_inside(file, &entry))
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
static uint64_t find_file_end(const struct perfdata_file *file)
{
	unsigned int nr = count_features(file, 64 * ARRAY_SIZE(file->features));
	struct perfdata_section section = { section_end(&file->data), nr * sizeof(section) };
	uint64_t end = section_end(&section);

	if (section_end(&file->attrs) > end)
		end = section_end(&file->attrs);
	for (unsigned int i = 0; i < nr && read_feature_entry(file, i, &section); i++) {
		if (section_end(&section) > end)
			end = section_end(&section);
	}
	return end;
}

static int read_file_header(struct perfdata_file *file)
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
	file->whole = find_file_end(file);
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
	err = read_file_header(&file);
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
	if (!read_feature_entry(file, count_features(file, feature), section) ||
	    !section_is_inside(file, section))
		return -EINVAL;
	return 0;
}

/* The size of the data that follows a record. False: the record is too short. */
static bool read_trailing_size(const struct perfdata_record *record, uint64_t *size)
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
	uint64_t end =
		section_end(&file->data) < file->size ? section_end(&file->data) : file->size;
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
	if (!read_trailing_size(record, &extra) || extra > end - *at - record->size)
		return false;
	if (record->type == PERFDATA_RECORD_AUXTRACE) {
		record->trace = bytes + record->size;
		record->trace_size = extra;
	}
	*at += record->size + extra;
	return true;
}

/* Records about files: mappings, and build IDs. */

#define ID_SIZE_MAX 20
/* PERF_RECORD_MISC_BUILD_ID_SIZE of the perf tool. */
#define MISC_BUILD_ID_SIZE (1 << 15)

/* PERF_RECORD_MMAP2 without the name. MMAP has the first half, then the name. */
struct mapped {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, length, offset;
	union {
		struct {
			uint32_t major, minor;
			uint64_t inode, generation;
		};
		struct {
			uint8_t id_size;
			uint8_t reserved[3];
			uint8_t id[ID_SIZE_MAX];
		};
	};
	uint32_t protection, flags;
};

/* struct perf_record_header_build_id of the perf tool, without the name. */
struct identified {
	struct perf_event_header header;
	uint32_t pid;
	uint8_t id[ID_SIZE_MAX];
	uint8_t id_size;
	uint8_t reserved[3];
};

/* The name after the fixed part of a record; NULL if it exceeds the record. */
static const char *name_after_fixed(const uint8_t *record, size_t fixed)
{
	struct perf_event_header header;

	memcpy(&header, record, sizeof(header));
	return header.size > fixed && memchr(record + fixed, '\0', header.size - fixed)
		       ? (const char *)record + fixed
		       : NULL;
}

static struct perfdata_bytes build_id_bytes(const uint8_t *id, uint8_t size)
{
	return (struct perfdata_bytes){ id, size <= ID_SIZE_MAX ? size : 0 };
}

static void read_mmap2_fields(const uint8_t *record, const struct mapped *mapped,
			      struct perfdata_mapping *mapping)
{
	if (!(mapped->protection & PROT_EXEC))
		mapping->is_data = true;
	if (mapped->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID)
		mapping->build_id =
			build_id_bytes(record + offsetof(struct mapped, id), mapped->id_size);
	else
		mapping->inode = mapped->inode;
}

bool perfdata_mapping(const uint8_t *record, struct perfdata_mapping *mapping)
{
	struct mapped mapped = {};
	size_t size = sizeof(mapped);

	memcpy(&mapped.header, record, sizeof(mapped.header));
	if (mapped.header.type == PERF_RECORD_MMAP)
		size = offsetof(struct mapped, major);
	else if (mapped.header.type != PERF_RECORD_MMAP2)
		return false;
	*mapping = (struct perfdata_mapping){ .name = name_after_fixed(record, size) };
	if (!mapping->name)
		return false;
	memcpy(&mapped, record, size);
	mapping->pid = (int32_t)mapped.pid;
	mapping->start = mapped.start;
	mapping->offset = mapped.offset;
	mapping->is_data = mapped.header.misc & PERF_RECORD_MISC_MMAP_DATA;
	if (__builtin_add_overflow(mapped.start, mapped.length, &mapping->end))
		mapping->end = UINT64_MAX;
	if (size == sizeof(mapped))
		read_mmap2_fields(record, &mapped, mapping);
	return true;
}

bool perfdata_identified(const uint8_t *record, struct perfdata_identified *file)
{
	struct identified identified;

	file->name = name_after_fixed(record, sizeof(identified));
	if (!file->name)
		return false;
	memcpy(&identified, record, sizeof(identified));
	file->build_id =
		build_id_bytes(record + offsetof(struct identified, id),
			       identified.header.misc & MISC_BUILD_ID_SIZE ? identified.id_size
									   : sizeof(identified.id));
	return true;
}
