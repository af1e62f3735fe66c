// SPDX-License-Identifier: GPL-2.0-only
#include "bundle/traced.h"

#include <linux/perf_event.h>
#include <stdint.h>
#include <string.h>

#include "cli/options.h"
#include "read.h"

#define MISC_BUILD_ID_SIZE (1 << 15)
#define MISC_MMAP_BUILD_ID (1 << 14)

/* struct perf_record_header_build_id of the perf tool, without the name. */
struct record {
	struct perf_event_header header;
	uint32_t pid;
	uint8_t id[20];
	uint8_t id_size;
	uint8_t reserved[3];
};

/* PERF_RECORD_MMAP2 with a build id, without the name. perf 7.3 has no build ids of files
 * elsewhere. */
struct mapped {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, length, offset;
	uint8_t id_size;
	uint8_t reserved[3];
	uint8_t id[20];
	uint32_t protection, flags;
};

struct found {
	struct traced_file *files;
	size_t nr;
};

static int compare_files(const void *a, const void *b)
{
	const struct traced_file *one = a, *other = b;
	int r = memcmp(one->id.bytes, other->id.bytes, sizeof(one->id.bytes));

	return r ? r : one->id.size - other->id.size;
}

static void sort_files(struct traced_file *files, size_t *nr)
{
	size_t kept = 0;

	if (!*nr)
		return;
	qsort(files, *nr, sizeof(*files), compare_files);
	for (size_t i = 1; i < *nr; i++) {
		if (compare_files(&files[kept], &files[i]))
			files[++kept] = files[i];
		else
			free(files[i].name);
	}
	*nr = kept + 1;
}

/* Skips kernel files and names that are not paths. */
static int add_file(struct found *found, uint16_t misc, const uint8_t *bytes, size_t size,
		    const char *name)
{
	struct build_id id = { .size = size };
	struct traced_file *more;

	if ((misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER || size < 2 ||
	    size > sizeof(id.bytes) || (name[0] != '/' && strcmp(name, "[vdso]")))
		return 0;
	memcpy(id.bytes, bytes, size);
	/* Grow at powers of two. */
	if (!(found->nr & (found->nr - 1))) {
		more = reallocarray(found->files, found->nr ? 2 * found->nr : 1, sizeof(*more));
		if (!more)
			return -ENOMEM;
		found->files = more;
	}
	found->files[found->nr] = (struct traced_file){
		.id = id,
		.is_vdso = name[0] == '[',
		.name = strdup(name),
	};
	if (!found->files[found->nr].name)
		return -ENOMEM;
	found->nr++;
	return 0;
}

/* The name after the fixed part of a record; NULL if not terminated. */
static const char *name_of(const uint8_t *record, size_t size, size_t fixed)
{
	return size > fixed && memchr(record + fixed, '\0', size - fixed)
		       ? (const char *)record + fixed
		       : NULL;
}

static int parse_table(const uint8_t *table, uint64_t size, struct found *found)
{
	for (uint64_t at = 0; size - at >= sizeof(struct perf_event_header);) {
		struct record record;
		const char *name;
		int r;

		if (size - at < sizeof(record))
			return -EINVAL;
		memcpy(&record, table + at, sizeof(record));
		if (record.header.size % 4 || record.header.size > size - at)
			return -EINVAL;
		name = name_of(table + at, record.header.size, sizeof(record));
		if (!name)
			return -EINVAL;
		r = add_file(found, record.header.misc, record.id,
			     record.header.misc & MISC_BUILD_ID_SIZE ? record.id_size
								     : sizeof(record.id),
			     name);
		if (r)
			return r;
		at += record.header.size;
	}
	return 0;
}

/* The table is optional. */
static int read_table(const struct perfdata_file *file, struct found *found)
{
	struct perfdata_section table;
	int r = perfdata_feature(file, PERFDATA_FEATURE_BUILD_ID, &table);

	if (!r)
		r = parse_table(file->bytes + table.offset, table.size, found);
	return r == -ENOENT ? 0 : r;
}

static int read_records(const struct perfdata_file *file, struct found *found)
{
	uint64_t at = file->data.offset, end = at + file->data.size;

	while (at < end) {
		struct perfdata_record record;
		struct mapped mapped;
		const char *name;
		int r;

		if (!perfdata_next(file, &at, &record))
			return -EINVAL;
		if (record.type != PERF_RECORD_MMAP2 || !(record.misc & MISC_MMAP_BUILD_ID))
			continue;
		name = name_of(record.bytes, record.size, sizeof(mapped));
		if (!name)
			return -EINVAL;
		memcpy(&mapped, record.bytes, sizeof(mapped));
		r = add_file(found, record.misc, mapped.id, mapped.id_size, name);
		if (r)
			return r;
	}
	return 0;
}

int traced_read(int fd, struct traced_file **files, size_t *nr, char **why)
{
	struct perfdata_file file = { 0 };
	struct found found = { 0 };
	int r = perfdata_map(&file, fd);

	if (!r)
		r = read_table(&file, &found);
	if (!r)
		r = read_records(&file, &found);
	perfdata_unmap(&file);
	if (r) {
		traced_free(found.files, found.nr);
		return options_explain(why, r, "build ids of files: %s",
				       r == -EINVAL ? "malformed" : strerror(-r));
	}
	sort_files(found.files, &found.nr);
	*files = found.files;
	*nr = found.nr;
	return 0;
}

void traced_free(struct traced_file *files, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		free(files[i].name);
	free(files);
}

static struct files_wanted wanted_of(const struct traced_file *file)
{
	return (struct files_wanted){ .name = file->name, .id = file->id };
}

int traced_open(const struct traced_file *file)
{
	const struct files_wanted wanted = wanted_of(file);
	_cleanup_free_ char *path = NULL;

	return files_open(&(struct files_places){ 0 }, &wanted, &path);
}

int traced_open_debug(const struct traced_file *file, int fd)
{
	const struct files_wanted wanted = wanted_of(file);

	return files_open_debug(&(struct files_places){ 0 }, &wanted, fd);
}
