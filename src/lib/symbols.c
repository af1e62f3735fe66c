// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "symbols.h"

#include <fcntl.h>

#include "util.h"

int symbols_write(int *fd, struct perfdata *pd, int root_fd)
{
	_cleanup_close_ int to = fcntl(perfdata_dirfd(pd), F_DUPFD_CLOEXEC, 0);
	int err = -ENOENT;

	if (to < 0)
		return -errno;
	if (*fd >= 0)
		err = perfdata_kcore_dir_link(*fd, to);
	/* Somebody has removed the capture that had them. */
	if (err == -ENOENT)
		err = perfdata_kcore_dir(to, root_fd);
	if (err)
		return err;
	closep(fd);
	*fd = TAKE_FD(to);
	return 0;
}
