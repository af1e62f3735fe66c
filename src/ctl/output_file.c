// SPDX-License-Identifier: GPL-2.0-only
#include "output_file.h"

#include <string.h>

int output_file_open(struct output_file *file, const char *path)
{
	const char *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash - path) + 1 : 0;

	*file = (struct output_file){ .path = path, .fd = -1 };
	if (!faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW))
		return -EEXIST;
	if (asprintf(&file->partial, "%.*s.partial-XXXXXX", folder, path) < 0) {
		file->partial = NULL;
		return -ENOMEM;
	}
	file->fd = mkostemp(file->partial, O_CLOEXEC);
	if (file->fd < 0) {
		int r = -errno;

		free(TAKE_PTR(file->partial));
		return r;
	}
	return 0;
}

int output_file_publish(struct output_file *file)
{
	/* Some that write behind, as NFS, tell only now that the disk is full. */
	int fd = TAKE_FD(file->fd);

	if (close(fd))
		return -errno;
	if (renameat2(AT_FDCWD, file->partial, AT_FDCWD, file->path, RENAME_NOREPLACE)) {
		/* Not every file system has that. */
		if (errno != EINVAL)
			return -errno;
		if (link(file->partial, file->path))
			return -errno;
		return 0;
	}
	free(TAKE_PTR(file->partial));
	return 0;
}

void output_file_close(struct output_file *file)
{
	closep(&file->fd);
	if (file->partial)
		unlink(file->partial);
	free(TAKE_PTR(file->partial));
}
