// SPDX-License-Identifier: GPL-2.0-only
#include "traced.h"

#include <gelf.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "options.h"
#include "read.h"
#include "regular.h"

#define MISC_BUILD_ID_SIZE (1 << 15)
#define MISC_MMAP_BUILD_ID (1 << 14)
#define DEBUG_FOLDER "/usr/lib/debug"

/* In the table of build ids; a name follows. struct perf_record_header_build_id of the perf tool.
 */
struct record {
	struct perf_event_header header;
	uint32_t pid;
	uint8_t id[20];
	uint8_t id_size;
	uint8_t reserved[3];
};

/* PERF_RECORD_MMAP2 with a build id; a name follows. perf 7.3 has those of files here only. */
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

/* Not of user space, or nothing that can be looked for, is left out. */
static int add_file(struct found *found, uint16_t misc, const uint8_t *bytes, size_t size,
		    const char *name)
{
	struct build_id id = { .size = size };
	struct traced_file *more;

	if ((misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER || size < 2 ||
	    size > sizeof(id.bytes) || (name[0] != '/' && strcmp(name, "[vdso]")))
		return 0;
	memcpy(id.bytes, bytes, size);
	/* Doubles at each power of two. */
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

/* The name behind the fixed part of a record; NULL if it has no end. */
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

/* Nothing, and no failure, if there is no such table. */
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
		return options_explain(why, r, "the build ids of files: %s",
				       r == -EINVAL ? "they are damaged" : strerror(-r));
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

void traced_hex(const struct build_id *id, char hex[TRACED_HEX_SIZE])
{
	hex[0] = '\0';
	for (size_t i = 0; i < id->size; i++)
		snprintf(hex + 2 * i, 3, "%02x", id->bytes[i]);
}

static bool same_id(const struct build_id *a, const struct build_id *b)
{
	return a->size == b->size && !memcmp(a->bytes, b->bytes, a->size);
}

/* Only what has the build id is what was traced, whatever its name is. */
static int try_open(const char *path, const struct build_id *id)
{
	_cleanup_close_ int fd = regular_open(AT_FDCWD, path);
	struct build_id found;

	if (fd < 0)
		return -ENOENT;
	found = build_id_of_elf(fd);
	return same_id(&found, id) ? TAKE_FD(fd) : -ESTALE;
}

int traced_open(const struct traced_file *file)
{
	char hex[TRACED_HEX_SIZE], path[PATH_MAX];
	const char *home = getenv("HOME");
	int fd = try_open(file->name, &file->id), cached = -ENOENT;

	if (fd >= 0 || !home)
		return fd;
	traced_hex(&file->id, hex);
	if (snprintf(path, sizeof(path), "%s/.debug/.build-id/%.2s/%s/elf", home, hex, hex + 2) <
	    (int)sizeof(path))
		cached = try_open(path, &file->id);
	return cached >= 0 ? cached : fd;
}

/* The name in .gnu_debuglink, which has no slash. */
static int read_debuglink(int fd, char *name, size_t size)
{
	Elf_Scn *section = NULL;
	size_t names, length;
	Elf_Data *data;
	int r = -ENOENT;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_getshdrstrndx(elf, &names))
		goto out;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *its_name;

		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
			continue;
		its_name = elf_strptr(elf, names, header.sh_name);
		if (!its_name || strcmp(its_name, ".gnu_debuglink"))
			continue;
		data = elf_rawdata(section, NULL);
		length = data && data->d_buf ? strnlen(data->d_buf, data->d_size) : 0;
		if (length && length < data->d_size && length < size &&
		    !memchr(data->d_buf, '/', length)) {
			memcpy(name, data->d_buf, length + 1);
			r = 0;
		}
		break;
	}
out:
	elf_end(elf);
	return r;
}

static bool same_file(int a, int b)
{
	struct stat one, other;

	return !fstat(a, &one) && !fstat(b, &other) && one.st_dev == other.st_dev &&
	       one.st_ino == other.st_ino;
}

/* Where gdb looks, in its order: by the build id, then by the link. */
int traced_open_debug(const struct traced_file *file, int fd)
{
	static const struct {
		const char *before, *after;
	} places[] = { { "", "" }, { "", "/.debug" }, { DEBUG_FOLDER, "" } };
	const char *slash = strrchr(file->name, '/');
	int folder = slash ? (int)(slash - file->name) : 0;
	char hex[TRACED_HEX_SIZE], link[NAME_MAX + 1], path[PATH_MAX];
	int found;

	traced_hex(&file->id, hex);
	snprintf(path, sizeof(path), DEBUG_FOLDER "/.build-id/%.2s/%s.debug", hex, hex + 2);
	found = try_open(path, &file->id);
	if (found >= 0 || read_debuglink(fd, link, sizeof(link)))
		return found;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (snprintf(path, sizeof(path), "%s%.*s%s/%s", places[i].before, folder,
			     file->name, places[i].after, link) >= (int)sizeof(path))
			continue;
		found = try_open(path, &file->id);
		if (found >= 0 && !same_file(found, fd))
			return found;
		closep(&found);
	}
	return -ENOENT;
}
