// SPDX-License-Identifier: GPL-2.0-only
#include "archive/archive.h"

#include <linux/perf_event.h>
#include <stdint.h>
#include <string.h>

#include "array.h"
#include "code/symbolizer.h"
#include "perfdata_read.h"
#include "text.h"

struct found {
	struct traced_file *files;
	size_t nr;
};

static int compare_build_ids(const void *a, const void *b)
{
	const struct traced_file *one = a, *other = b;
	int err = memcmp(one->id.bytes, other->id.bytes, sizeof(one->id.bytes));

	return err ? err : one->id.size - other->id.size;
}

static void sort_traced_files(struct traced_file *files, size_t *nr)
{
	size_t kept = 0;

	if (!*nr)
		return;
	qsort(files, *nr, sizeof(*files), compare_build_ids);
	for (size_t i = 1; i < *nr; i++) {
		if (compare_build_ids(&files[kept], &files[i])) {
			files[++kept] = files[i];
		} else {
			files[kept].in_stack |= files[i].in_stack;
			free(files[i].name);
		}
	}
	*nr = kept + 1;
}

/* Skips kernel files and names that are not paths. */
static int add_traced_file(struct found *found, uint16_t misc, struct perfdata_bytes build_id,
			   const char *name)
{
	struct build_id id = { .size = (uint8_t)build_id.size };

	if ((misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER || id.size < 2 ||
	    (name[0] != '/' && strcmp(name, "[vdso]")))
		return 0;
	memcpy(id.bytes, build_id.data, id.size);
	if (array_grow(&found->files, found->nr, sizeof(*found->files)))
		return -ENOMEM;
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

static int parse_build_id_table(const uint8_t *table, uint64_t size, struct found *found)
{
	for (uint64_t at = 0; size - at >= sizeof(struct perf_event_header);) {
		struct perfdata_identified file;
		struct perf_event_header header;
		int err;

		memcpy(&header, table + at, sizeof(header));
		if (header.size % 4 || header.size > size - at ||
		    !perfdata_identified(table + at, &file))
			return -EINVAL;
		err = add_traced_file(found, header.misc, file.build_id, file.name);
		if (err)
			return err;
		at += header.size;
	}
	return 0;
}

/* The table is optional. */
static int read_build_id_table(const struct perfdata_file *file, struct found *found)
{
	struct perfdata_section table;
	int err = perfdata_feature(file, PERFDATA_FEATURE_BUILD_ID, &table);

	if (!err)
		err = parse_build_id_table(file->bytes + table.offset, table.size, found);
	return err == -ENOENT ? 0 : err;
}

static int read_mmap_records(const struct perfdata_file *file, struct found *found)
{
	uint64_t at = file->data.offset;

	while (at - file->data.offset < file->data.size) {
		struct perfdata_mapping mapping;
		struct perfdata_record record;
		int err;

		if (!perfdata_next(file, &at, &record))
			return -EINVAL;
		if (record.type != PERF_RECORD_MMAP2 ||
		    !(record.misc & PERF_RECORD_MISC_MMAP_BUILD_ID))
			continue;
		if (!perfdata_mapping(record.bytes, &mapping))
			return -EINVAL;
		err = add_traced_file(found, record.misc, mapping.build_id, mapping.name);
		if (err)
			return err;
	}
	return 0;
}

int traced_files_read(int fd, struct traced_file **files, size_t *nr, char **why)
{
	struct perfdata_file file = { 0 };
	struct found found = { 0 };
	int err = perfdata_map(&file, fd);

	if (!err)
		err = read_build_id_table(&file, &found);
	if (!err)
		err = read_mmap_records(&file, &found);
	perfdata_unmap(&file);
	if (err) {
		traced_files_free(found.files, found.nr);
		return say_why(why, err, "build ids of files: %s",
			       err == -EINVAL ? "malformed" : strerror(-err));
	}
	sort_traced_files(found.files, &found.nr);
	*files = found.files;
	*nr = found.nr;
	return 0;
}

int traced_files_add_frames(struct traced_file **files, size_t *nr,
			    const struct perf_poke_frame *const *frames, size_t nr_frames)
{
	struct found found = { *files, *nr };
	int err = 0;

	for (size_t i = 0; i < nr_frames && !err; i++) {
		const struct perfdata_bytes id = { frames[i]->build_id, frames[i]->build_id_size };
		size_t before = found.nr;

		if (!frames[i]->user || !frames[i]->file)
			continue;
		err = add_traced_file(&found, PERF_RECORD_MISC_USER, id, frames[i]->file);
		if (!err && found.nr > before)
			found.files[before].in_stack = true;
	}
	sort_traced_files(found.files, &found.nr);
	*files = found.files;
	*nr = found.nr;
	return err;
}

void traced_files_free(struct traced_file *files, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		free(files[i].name);
	free(files);
}

static struct files_wanted files_wanted_of(const struct traced_file *file)
{
	return (struct files_wanted){ .name = file->name, .id = file->id };
}

int traced_file_open(const struct traced_file *file)
{
	const struct files_wanted wanted = files_wanted_of(file);
	_cleanup_free_ char *path = NULL;

	return files_open_wanted(&(struct files_places){ 0 }, &wanted, &path);
}

int traced_file_open_debug(const struct traced_file *file, struct symbolizer *symbolizer, int fd)
{
	const struct files_wanted wanted = files_wanted_of(file);

	return symbolizer_open_debug(symbolizer, &wanted, fd);
}
