// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "tree.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "util.h"

/* Descriptors that are open at once, in counting. */
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

static uint64_t entry_size(int dirfd, const char *name, int depth)
{
	_cleanup_closedir_ DIR *dir = NULL;
	_cleanup_close_ int fd = -1;
	struct dirent *entry;
	uint64_t size = 0;
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW))
		return 0;
	if (!S_ISDIR(st.st_mode))
		return S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (depth == MAX_DEPTH || fd < 0 || opendir_at(&dir, fd, "."))
		return 0;
	while ((entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			size += entry_size(fd, entry->d_name, depth + 1);
	}
	return size;
}

uint64_t tree_size(int dirfd, const char *name)
{
	return entry_size(dirfd, name, 0);
}
