// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "tree.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "util.h"

/* Limits the descriptors that tree_size() has open at once. */
#define MAX_DEPTH 16

int tree_remove_entries(int dirfd, const char *prefix)
{
	_cleanup_closedir_ DIR *dir = NULL;
	struct dirent *entry;
	int ret;

	ret = opendir_at(&dir, dirfd, ".");
	if (ret)
		return ret;
	while ((entry = readdir(dir))) {
		int err;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
		    strncmp(entry->d_name, prefix, strlen(prefix)))
			continue;
		err = tree_remove(dirfd, entry->d_name);
		if (err && !ret)
			ret = err;
	}
	return ret;
}

int tree_remove(int dirfd, const char *name)
{
	_cleanup_close_ int fd = -1;
	int err;

	if (!unlinkat(dirfd, name, 0))
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = tree_remove_entries(fd, "");
	if (!unlinkat(dirfd, name, AT_REMOVEDIR))
		return 0;
	return err ? err : -errno;
}

bool tree_is_removed(int fd)
{
	struct stat st;

	return fstat(fd, &st) || !st.st_nlink;
}

/* With LOCK_EX held, nobody else can remove the folder or reuse its name. */
int tree_remove_unlocked(int dirfd, const char *name, int fd)
{
	int err = 0;

	if (flock(fd, LOCK_EX | LOCK_NB))
		return -errno;
	if (!tree_is_removed(fd))
		err = tree_remove(dirfd, name);
	flock(fd, LOCK_UN);
	return err;
}

void tree_sweep(int dirfd, const char *prefix)
{
	_cleanup_closedir_ DIR *dir = NULL;
	struct dirent *entry;

	if (opendir_at(&dir, dirfd, "."))
		return;
	while ((entry = readdir(dir))) {
		const char *name = entry->d_name;
		_cleanup_close_ int fd = -1;

		if (strncmp(name, prefix, strlen(prefix)) || (name[0] == '.' && !*prefix))
			continue;
		fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0)
			tree_remove_unlocked(dirfd, name, fd);
	}
}

static void add_file(struct tree_size *size, const struct stat *st)
{
	size->all += st->st_size;
	size->own += st->st_nlink > 1 ? 0 : st->st_size;
	size->share += st->st_size / (st->st_nlink ?: 1);
}

static void add_entry(struct tree_size *size, int dirfd, const char *name, int depth)
{
	_cleanup_closedir_ DIR *dir = NULL;
	_cleanup_close_ int fd = -1;
	struct dirent *entry;
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW))
		return;
	if (S_ISREG(st.st_mode))
		add_file(size, &st);
	if (!S_ISDIR(st.st_mode) || depth == MAX_DEPTH)
		return;
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || opendir_at(&dir, fd, "."))
		return;
	while ((entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			add_entry(size, fd, entry->d_name, depth + 1);
	}
}

struct tree_size tree_size(int dirfd, const char *name)
{
	struct tree_size size = {};

	add_entry(&size, dirfd, name, 0);
	return size;
}
