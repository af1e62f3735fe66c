// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "read.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "util.h"

#define MAGIC UINT64_C(0x32454c4946524550) /* PERFILE2 */
#define RECORD_HEADER_SIZE 8
/* struct perf_record_auxtrace: the header, then the size of the trace that follows it. */
#define AUXTRACE_SIZE 48

/* struct perf_file_header of the perf tool. */
struct header {
	uint64_t magic, size, attr_size;
	struct perfdata_section attrs, data, types;
	uint64_t features[4];
};

/* UINT64_MAX if that is beyond all files. */
static uint64_t end_of(const struct perfdata_section *section)
{
	uint64_t end;

	return __builtin_add_overflow(section->offset, section->size, &end) ? UINT64_MAX : end;
}

static bool is_inside(const struct perfdata_file *file, const struct perfdata_section *section)
{
	return end_of(section) <= file->size;
}

/* Of the table behind the data, which has a section for each feature. False: it is cut off. */
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

/* The end of what comes last. */
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
	struct header header;

	if (file->size < sizeof(header))
		return -EINVAL;
	memcpy(&header, file->bytes, sizeof(header));
	if (header.magic != MAGIC || header.size != sizeof(header))
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

bool perfdata_next(const struct perfdata_file *file, uint64_t *at, struct perfdata_record *record)
{
	uint64_t end = end_of(&file->data) < file->size ? end_of(&file->data) : file->size;
	const uint8_t *bytes;

	if (*at > end || end - *at < RECORD_HEADER_SIZE)
		return false;
	bytes = file->bytes + *at;
	*record = (struct perfdata_record){ .bytes = bytes };
	memcpy(&record->type, bytes, sizeof(record->type));
	memcpy(&record->misc, bytes + 4, sizeof(record->misc));
	memcpy(&record->size, bytes + 6, sizeof(record->size));
	if (record->size < RECORD_HEADER_SIZE || record->size > end - *at)
		return false;
	*at += record->size;
	if (record->type != PERFDATA_RECORD_AUXTRACE)
		return true;
	if (record->size < AUXTRACE_SIZE)
		return false;
	record->trace = bytes + record->size;
	memcpy(&record->trace_size, bytes + RECORD_HEADER_SIZE, sizeof(record->trace_size));
	if (record->trace_size > end - *at)
		return false;
	*at += record->trace_size;
	return true;
}
