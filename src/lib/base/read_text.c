// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/read_text.h"

#include "util.h"

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
