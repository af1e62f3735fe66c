// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "io.h"

#include <string.h>
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
