// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "write_all.h"

#include <errno.h>
#include <unistd.h>

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
