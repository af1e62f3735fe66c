// SPDX-License-Identifier: GPL-2.0-only
#include "cli/output_file.h"

#include <string.h>

bool output_file_exists(const char *path)
{
	return !faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW);
}

int output_file_rename(int dirfd, const char *partial, const char *path, bool force)
{
	if (!renameat2(dirfd, partial, AT_FDCWD, path, force ? 0 : RENAME_NOREPLACE))
		return 0;
	/* Not every file system supports RENAME_NOREPLACE. */
	if (force || errno != EINVAL)
		return -errno;
	if (linkat(dirfd, partial, AT_FDCWD, path, 0))
		return -errno;
	unlinkat(dirfd, partial, 0);
	return 0;
}

const char *output_file_strerror(int err)
{
	return err == -EEXIST ? "file exists; not overwriting (--force to overwrite)"
			      : strerror(-err);
}

int output_file_open(struct output_file *file, const char *path, bool force)
{
	int r;

	*file = (struct output_file){
		.path = path,
		.partial = partial_none,
		.fd = -1,
		.force = force,
	};
	if (!force && output_file_exists(path))
		return -EEXIST;
	r = partial_file(&file->partial, path);
	file->fd = TAKE_FD(file->partial.fd);
	return r;
}

int output_file_publish(struct output_file *file)
{
	/* File systems that write behind, such as NFS, report a full disk at close(). */
	int fd = TAKE_FD(file->fd);
	int r;

	if (close(fd))
		return -errno;
	r = output_file_rename(AT_FDCWD, file->partial.path, file->path, file->force);
	if (!r)
		partial_keep(&file->partial);
	return r;
}

void output_file_close(struct output_file *file)
{
	closep(&file->fd);
	partial_release(&file->partial);
}
