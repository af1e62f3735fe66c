// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The build id table of a perf.data. */
#include "internal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <search.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "array.h"
#include "build_id.h"

#define KERNEL_NAME "[kernel.kallsyms]"
#define VDSO_NAME "[vdso]"
#define MISC_BUILD_ID_SIZE (1 << 15)
#define NAME_ALIGN 64
/* perf reads names into PATH_MAX bytes, including padding. */
#define NAME_MAX_SIZE 4032

/* A cached file, with or without build id. */
struct file {
	dev_t dev;
	ino_t ino;
	struct timespec mtime;
	struct build_id id;
};

struct name {
	struct build_id id; /* empty: none known */
	uint64_t inode;
	bool ours; /* the file has this name here too */
	char name[];
};

struct perfdata_build_ids {
	int rootfd;
	void *files; /* tree of struct file */
};

static struct build_id read_build_id_notes(int dirfd, const char *path)
{
	_cleanup_buf_ struct perfdata_buf notes = {};

	if (perfdata_buf_read_file(&notes, dirfd, path) < 0)
		return (struct build_id){};
	return build_id_of_notes(notes.data, notes.len);
}

static void put_build_id(struct perfdata_buf *body, uint16_t misc, const struct build_id *id,
			 const char *name)
{
	const size_t len = strlen(name), padded = (len / NAME_ALIGN + 1) * NAME_ALIGN;

	if (!id->size || padded > NAME_MAX_SIZE)
		return;
	perfdata_buf_header(body, 0, misc | MISC_BUILD_ID_SIZE,
			    sizeof(struct perf_event_header) + 2 * sizeof(uint32_t) +
				    sizeof(id->bytes) + padded);
	perfdata_buf_u32(body, -1);
	perfdata_buf_add(body, id->bytes, sizeof(id->bytes));
	perfdata_buf_add(body, &id->size, 1);
	perfdata_buf_zero(body, 3);
	perfdata_buf_add(body, name, len);
	perfdata_buf_zero(body, padded - len);
}

/* The names must match those of perfdata_put_kernel() and perfdata_put_modules(). */
void perfdata_kernel_build_ids(struct perfdata_buf *body, int rootfd)
{
	struct build_id id = read_build_id_notes(rootfd, "sys/kernel/notes");
	_cleanup_closedir_ DIR *modules = NULL;
	const struct dirent *entry;

	put_build_id(body, PERF_RECORD_MISC_KERNEL, &id, KERNEL_NAME);
	if (opendir_at(&modules, rootfd, "sys/module") < 0)
		return;
	while ((entry = readdir(modules))) {
		char path[sizeof(entry->d_name) + sizeof("/notes/.note.gnu.build-id")];
		char name[sizeof(entry->d_name) + sizeof("[]")];

		snprintf(path, sizeof(path), "%s/notes/.note.gnu.build-id", entry->d_name);
		snprintf(name, sizeof(name), "[%s]", entry->d_name);
		id = read_build_id_notes(dirfd(modules), path);
		put_build_id(body, PERF_RECORD_MISC_KERNEL, &id, name);
	}
}

int perfdata_build_ids_new(struct perfdata_build_ids **ret, int rootfd)
{
	struct perfdata_build_ids *ids = calloc(1, sizeof(*ids));

	if (!ids)
		return -ENOMEM;
	ids->rootfd = rootfd;
	*ret = ids;
	return 0;
}

void perfdata_build_ids_free(struct perfdata_build_ids *ids)
{
	if (!ids)
		return;
	tdestroy(ids->files, free);
	free(ids);
}

static int compare_cached_files(const void *a, const void *b)
{
	const struct file *one = a, *other = b;

	return array_compare(one->dev, other->dev)
		       ?: array_compare(one->ino, other->ino)
		       ?: array_compare(one->mtime.tv_sec, other->mtime.tv_sec)
		       ?: array_compare(one->mtime.tv_nsec, other->mtime.tv_nsec);
}

static int compare_mapped_names(const void *a, const void *b)
{
	const struct name *one = a, *other = b;

	return strcmp(one->name, other->name);
}

/* O_PATH: opening a device or a FIFO could have side effects. */
static int open_regular_path(int rootfd, const char *path, uint64_t ino, struct stat *st)
{
	_cleanup_close_ int fd = openat(rootfd, path, O_PATH | O_CLOEXEC);

	if (fd < 0 || fstat(fd, st) < 0 || !S_ISREG(st->st_mode) || (ino && st->st_ino != ino))
		return -1;
	return TAKE_FD(fd);
}

/* map_files leads to the file in any namespace, even if deleted. If the process has exited or
 * unmapped it, tries the path in the process's root, then in ours. The inode must match then. The
 * device is not compared, because overlayfs and btrfs report another one in mappings. */
static int find_mapped_file(int rootfd, const struct perfdata_mapping *map, struct stat *st)
{
	_cleanup_free_ char *path = NULL;
	char link[96];
	int fd;

	snprintf(link, sizeof(link), "proc/%d/map_files/%" PRIx64 "-%" PRIx64, map->pid, map->start,
		 map->end);
	fd = open_regular_path(rootfd, link, 0, st);
	if (fd >= 0)
		return fd;
	if (asprintf(&path, "proc/%d/root%s", map->pid, map->name) < 0)
		return -1;
	fd = open_regular_path(rootfd, path, map->inode, st);
	return fd >= 0 ? fd : open_regular_path(rootfd, map->name + 1, map->inode, st);
}

/* *id stays empty if the file is missing or not ELF. */
static int file_build_id(struct perfdata_build_ids *ids, const struct perfdata_mapping *map,
			 struct build_id *id)
{
	_cleanup_free_ struct file *file = calloc(1, sizeof(*file));
	_cleanup_close_ int path_fd = -1, fd = -1;
	struct file **found;
	char path[32];
	struct stat st;

	if (!file)
		return -ENOMEM;
	path_fd = find_mapped_file(ids->rootfd, map, &st);
	if (path_fd < 0)
		return 0;
	file->dev = st.st_dev;
	file->ino = st.st_ino;
	file->mtime = st.st_mtim;
	found = tsearch(file, &ids->files, compare_cached_files);
	if (!found)
		return -ENOMEM;
	if (*found == file) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0)
			file->id = build_id_of_elf(fd);
		TAKE_PTR(file);
	}
	*id = (*found)->id;
	return 0;
}

/* perf identifies files by name. Of equal names in several mount namespaces, the file that has it
 * here counts, else the first with a build id. */
static int add_mapping(struct perfdata_build_ids *ids, void **names,
		       const struct perfdata_mapping *map)
{
	_cleanup_free_ struct name *new = NULL;
	_cleanup_close_ int fd = -1;
	bool is_vdso = !strcmp(map->name, VDSO_NAME);
	struct name **found, *name;
	struct build_id id = {};
	struct vdso vdso = {};
	struct stat st;
	int err;

	if (!is_vdso && (map->name[0] != '/' || map->name[1] == '/'))
		return 0;
	new = calloc(1, sizeof(*new) + strlen(map->name) + 1);
	if (!new)
		return -ENOMEM;
	strcpy(new->name, map->name);
	found = tsearch(new, names, compare_mapped_names);
	if (!found)
		return -ENOMEM;
	name = *found;
	if (name == new)
		TAKE_PTR(new);
	else if (name->id.size && (name->ours || name->inode == map->inode))
		return 0;
	/* perf names the 32-bit vDSO differently. */
	if (is_vdso) {
		name->ours = true;
		if (!vdso_find_own(&vdso))
			name->id = vdso.id;
		return 0;
	}
	/* perf looks for the file by this name. */
	fd = open_regular_path(ids->rootfd, map->name + 1, map->inode, &st);
	name->ours = fd >= 0;
	name->inode = map->inode;
	if (name->id.size && !name->ours)
		return 0;
	err = file_build_id(ids, map, &id);
	if (id.size)
		name->id = id;
	return err;
}

static void put_name_id(const void *node, VISIT visit, void *body)
{
	const struct name *name = *(struct name *const *)node;

	if (visit == postorder || visit == leaf)
		put_build_id(body, PERF_RECORD_MISC_USER, &name->id, name->name);
}

int perfdata_put_build_ids(struct perfdata *pd, struct perfdata_build_ids *ids,
			   const struct perfdata_records *records, size_t nr)
{
	struct perfdata_buf *body = perfdata_own_build_ids(pd);
	struct perf_event_header header;
	void *names = NULL;
	int err = 0;

	for (size_t i = 0; i < nr; i++) {
		for (size_t at = 0; records[i].len - at >= sizeof(header) && !err;
		     at += header.size) {
			const uint8_t *record = (const uint8_t *)records[i].data + at;
			struct perfdata_mapping map;

			memcpy(&header, record, sizeof(header));
			if (header.size < sizeof(header) || header.size > records[i].len - at)
				break;
			if (header.type == PERF_RECORD_MMAP2 && perfdata_mapping(record, &map) &&
			    !map.is_data)
				err = add_mapping(ids, &names, &map);
		}
	}
	if (!err)
		twalk_r(names, put_name_id, body);
	tdestroy(names, free);
	return err ? err : body->error;
}
