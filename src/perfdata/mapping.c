// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Records about files: mappings, and build IDs. */
#include "read.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>

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
static const char *name_after(const uint8_t *record, size_t fixed)
{
	struct perf_event_header header;

	memcpy(&header, record, sizeof(header));
	return header.size > fixed && memchr(record + fixed, '\0', header.size - fixed)
		       ? (const char *)record + fixed
		       : NULL;
}

static struct perfdata_bytes build_id(const uint8_t *id, uint8_t size)
{
	return (struct perfdata_bytes){ id, size <= ID_SIZE_MAX ? size : 0 };
}

static void take_second_half(const uint8_t *record, const struct mapped *mapped,
			     struct perfdata_mapping *mapping)
{
	if (!(mapped->protection & PROT_EXEC))
		mapping->is_data = true;
	if (mapped->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID)
		mapping->build_id = build_id(record + offsetof(struct mapped, id), mapped->id_size);
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
	*mapping = (struct perfdata_mapping){ .name = name_after(record, size) };
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
		take_second_half(record, &mapped, mapping);
	return true;
}

bool perfdata_identified(const uint8_t *record, struct perfdata_identified *file)
{
	struct identified identified;

	file->name = name_after(record, sizeof(identified));
	if (!file->name)
		return false;
	memcpy(&identified, record, sizeof(identified));
	file->build_id =
		build_id(record + offsetof(struct identified, id),
			 identified.header.misc & MISC_BUILD_ID_SIZE ? identified.id_size
								     : sizeof(identified.id));
	return true;
}
