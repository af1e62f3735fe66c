// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "recorder/symbols.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "tree.h"
#include "util.h"

#define OWN "kernel"

void symbols_init(struct symbols *symbols, int work_fd)
{
	*symbols = (struct symbols){ .fd = -1, .work_fd = work_fd };
}

static int symbols_open_own(struct symbols *symbols)
{
	closep(&symbols->fd);
	tree_remove(symbols->work_fd, OWN);
	if (mkdirat(symbols->work_fd, OWN, 0700))
		return -errno;
	symbols->fd =
		openat(symbols->work_fd, OWN, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return symbols->fd < 0 ? -errno : 0;
}

/* Captures come and go; what they have in common stays while the session does. Where that cannot
 * be, it stays as long as the capture. */
static void symbols_hold(struct symbols *symbols, int *capture_fd)
{
	if (!symbols_open_own(symbols) && !perfdata_kcore_dir_link(*capture_fd, symbols->fd))
		return;
	closep(&symbols->fd);
	symbols->fd = TAKE_FD(*capture_fd);
}

int symbols_prepare(struct symbols *symbols, int root_fd)
{
	int err;

	symbols->prepared = true;
	err = symbols_open_own(symbols);
	if (err)
		return err;
	err = perfdata_kcore_dir(symbols->fd, root_fd);
	if (!err) {
		symbols->kcore_error = perfdata_kcore(symbols->fd, root_fd);
		err = symbols->kcore_error == -ENOSPC ? -ENOSPC : 0;
	}
	/* Half of a copy is none. */
	if (err)
		closep(&symbols->fd);
	return err;
}

int symbols_write(struct symbols *symbols, struct perfdata *pd, int root_fd)
{
	_cleanup_close_ int to = fcntl(perfdata_dirfd(pd), F_DUPFD_CLOEXEC, 0);
	int err = -ENOENT;

	if (to < 0)
		return -errno;
	if (symbols->fd >= 0)
		err = perfdata_kcore_dir_link(symbols->fd, to);
	if (err != -ENOENT)
		return err;
	/* The first, or what was held has been removed. */
	if (symbols->prepared) {
		err = symbols_prepare(symbols, root_fd);
		return err ? err : perfdata_kcore_dir_link(symbols->fd, to);
	}
	err = perfdata_kcore_dir(to, root_fd);
	if (!err)
		symbols_hold(symbols, &to);
	return err;
}

void symbols_close(struct symbols *symbols)
{
	closep(&symbols->fd);
}
