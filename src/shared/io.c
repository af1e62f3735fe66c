// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "io.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "util.h"

int write_all(int fd, const void *data, size_t len)
{
	const char *from = data;
	ssize_t n;

	while (len) {
		n = write(fd, from, len);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			from += n;
			len -= n;
		}
	}
	return 0;
}

int read_text_at(int dirfd, const char *path, char *text, size_t size)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, size - 1);

	if (len < 0)
		return -errno;
	text[len] = '\0';
	if (len && text[len - 1] == '\n')
		text[len - 1] = '\0';
	return 0;
}

int regular_open(int dirfd, const char *path)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	return S_ISREG(st.st_mode) ? TAKE_FD(fd) : -EINVAL;
}

const char *regular_strerror(int err)
{
	return err == -EINVAL ? "not a regular file" : strerror(-err);
}

#define MARKER_SIZE 128
/* Of folders in folders, and so of descriptors that are open at once, which a program has 1024 of.
 */
#define MAX_DEPTH 16

static int tree_remove_below(int dirfd, const char *name, int depth);

static int tree_remove_all_but(int dirfd, const char *prefix, const char *except, int depth)
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
		    !strcmp(entry->d_name, except) ||
		    strncmp(entry->d_name, prefix, strlen(prefix)))
			continue;
		err = tree_remove_below(dirfd, entry->d_name, depth);
		if (err && !ret)
			ret = err;
	}
	return ret;
}

int tree_remove_entries(int dirfd, const char *prefix)
{
	return tree_remove_all_but(dirfd, prefix, "", 0);
}

static int tree_remove_below(int dirfd, const char *name, int depth)
{
	_cleanup_close_ int fd = -1;
	int err;

	if (!unlinkat(dirfd, name, 0))
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	if (depth > MAX_DEPTH)
		return -ENOTEMPTY;
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = tree_remove_all_but(fd, "", "", depth + 1);
	if (!unlinkat(dirfd, name, AT_REMOVEDIR))
		return 0;
	return err ? err : -errno;
}

int tree_remove(int dirfd, const char *name)
{
	return tree_remove_below(dirfd, name, 0);
}

bool tree_is_removed(int fd)
{
	struct stat st;

	return fstat(fd, &st) || !st.st_nlink;
}

bool tree_is_empty(int fd)
{
	_cleanup_closedir_ DIR *dir = NULL;
	size_t nr = 0;

	if (opendir_at(&dir, fd, "."))
		return false;
	while (readdir(dir))
		nr++;
	/* Itself and its parent. */
	return nr <= 2;
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

void tree_remove_leftovers(int dirfd, const char *prefix, bool marked)
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
		if (fd < 0 || (marked && !tree_is_marked(fd)))
			continue;
		if (!marked)
			tree_remove_unlocked(dirfd, name, fd);
		else if (!flock(fd, LOCK_EX | LOCK_NB))
			tree_remove_marked(dirfd, name, fd);
	}
}

int tree_remove_marked(int dirfd, const char *name, int fd)
{
	/* The marker last: what is interrupted here is removed by the next one. */
	int err = tree_remove_all_but(fd, "", TREE_MARKER, 0);

	if (!err)
		unlinkat(fd, TREE_MARKER, 0);
	/* The name may mean another folder by now: by name only an empty one is removed. */
	return unlinkat(dirfd, name, AT_REMOVEDIR) ? err ?: -errno : 0;
}

/* Device and inode: a copy of a marked folder is not marked. */
static int tree_marker_text(int fd, char text[MARKER_SIZE])
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (st.st_uid != geteuid() || st.st_mode & 0077)
		return -EPERM;
	snprintf(text, MARKER_SIZE, "A folder of perf-poke, device %ju, inode %ju\n",
		 (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	return 0;
}

int tree_mark_own(int fd)
{
	_cleanup_close_ int marker = -1;
	char text[MARKER_SIZE];
	int err = tree_marker_text(fd, text);

	if (err)
		return err;
	marker = openat(fd, TREE_MARKER, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return marker < 0 ? -errno : write_all(marker, text, strlen(text));
}

bool tree_is_marked(int fd)
{
	_cleanup_close_ int marker =
		openat(fd, TREE_MARKER, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char wanted[MARKER_SIZE], text[MARKER_SIZE];
	ssize_t size;

	if (marker < 0 || tree_marker_text(fd, wanted))
		return false;
	size = read(marker, text, sizeof(text));
	return size == (ssize_t)strlen(wanted) && !memcmp(text, wanted, (size_t)size);
}

static void tree_add_entry(struct tree_size *size, int dirfd, const char *name, int depth)
{
	_cleanup_closedir_ DIR *dir = NULL;
	_cleanup_close_ int fd = -1;
	struct dirent *entry;
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW))
		return;
	if (S_ISREG(st.st_mode)) {
		size->all += st.st_size;
		size->own += st.st_nlink > 1 ? 0 : st.st_size;
		size->share += st.st_size / (st.st_nlink ?: 1);
	}
	if (!S_ISDIR(st.st_mode) || depth == MAX_DEPTH)
		return;
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || opendir_at(&dir, fd, "."))
		return;
	while ((entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			tree_add_entry(size, fd, entry->d_name, depth + 1);
	}
}

struct tree_size tree_size(int dirfd, const char *name)
{
	struct tree_size size = {};

	tree_add_entry(&size, dirfd, name, 0);
	return size;
}

/* Visits what is in a folder before the folder itself. */
static int tree_walk(int dirfd, const char *name, int depth,
		     int (*visit)(int dirfd, const char *name, mode_t mode, uid_t uid), uid_t uid)
{
	_cleanup_closedir_ DIR *dir = NULL;
	_cleanup_close_ int fd = -1;
	struct dirent *entry;
	struct stat st;
	int err = 0;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW))
		return -errno;
	if (S_ISDIR(st.st_mode) && depth < MAX_DEPTH) {
		fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		err = fd < 0 ? -errno : opendir_at(&dir, fd, ".");
	}
	while (dir && !err && (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			err = tree_walk(fd, entry->d_name, depth + 1, visit, uid);
	}
	return err ? err : visit(dirfd, name, st.st_mode, uid);
}

static int set_owner(int dirfd, const char *name, mode_t mode, uid_t uid)
{
	return fchownat(dirfd, name, uid, (gid_t)-1, AT_SYMLINK_NOFOLLOW) ? -errno : 0;
}

int tree_set_owner(int dirfd, const char *name, uid_t uid)
{
	return tree_walk(dirfd, name, 0, set_owner, uid);
}

/* Some file systems have nothing to sync. */
static int sync_file(int dirfd, const char *name, mode_t mode, uid_t uid)
{
	_cleanup_close_ int fd = -1;

	if (!S_ISREG(mode) && !S_ISDIR(mode))
		return 0;
	fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return fsync(fd) && errno != EINVAL && errno != EROFS ? -errno : 0;
}

int tree_sync(int dirfd, const char *name)
{
	return tree_walk(dirfd, name, 0, sync_file, 0);
}
