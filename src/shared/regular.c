// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "regular.h"

#include <string.h>
#include <sys/stat.h>

#include "util.h"

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
