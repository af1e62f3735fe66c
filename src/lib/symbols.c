// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "symbols.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "capture.h"
#include "tree.h"
#include "util.h"

void symbols_init(struct symbols *symbols, int output_fd)
{
	*symbols = (struct symbols){ .fd = -1, .output_fd = output_fd };
}

static int symbols_open_own(struct symbols *symbols)
{
	snprintf(symbols->own, sizeof(symbols->own), CAPTURE_PARTIAL "%d-kernel", getpid());
	tree_remove(symbols->output_fd, symbols->own);
	if (mkdirat(symbols->output_fd, symbols->own, 0700))
		return -errno;
	symbols->fd = openat(symbols->output_fd, symbols->own, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return symbols->fd < 0 ? -errno : 0;
}

/* Captures come and go; what they have in common stays while the session does. Where that cannot
 * be, it stays as long as the capture. */
static void symbols_hold(struct symbols *symbols, int *capture_fd)
{
	closep(&symbols->fd);
	if (!symbols_open_own(symbols) && !perfdata_kcore_dir_link(*capture_fd, symbols->fd))
		return;
	closep(&symbols->fd);
	symbols->fd = TAKE_FD(*capture_fd);
}

int symbols_prepare(struct symbols *symbols, int root_fd)
{
	int err;

	err = symbols_open_own(symbols);
	if (err)
		return err;
	err = perfdata_kcore_dir(symbols->fd, root_fd);
	if (err)
		return err;
	err = perfdata_kcore(symbols->fd, root_fd);
	if (err == -ENOSPC)
		return err;
	symbols->kcore_error = err;
	return 0;
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
	/* The first, or somebody has removed what was held. */
	err = perfdata_kcore_dir(to, root_fd);
	if (!err)
		symbols_hold(symbols, &to);
	return err;
}

void symbols_close(struct symbols *symbols)
{
	closep(&symbols->fd);
	if (symbols->own[0])
		tree_remove(symbols->output_fd, symbols->own);
}
