// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "recorder/recorder.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "build_id.h"
#include "io.h"
#include "util.h"

#define OWN "kernel"

void kernel_symbols_init(struct kernel_symbols *symbols, int work_fd)
{
	*symbols = (struct kernel_symbols){ .fd = -1, .work_fd = work_fd };
}

static int symbols_open_own(struct kernel_symbols *symbols)
{
	closep(&symbols->fd);
	tree_remove(symbols->work_fd, OWN);
	if (mkdirat(symbols->work_fd, OWN, 0700))
		return -errno;
	symbols->fd =
		openat(symbols->work_fd, OWN, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return symbols->fd < 0 ? -errno : 0;
}

/* Keeps a link to the copy for the session, because captures may be removed. If that fails, keeps
 * the capture's own folder. */
static void symbols_hold_copy(struct kernel_symbols *symbols, int *capture_fd)
{
	if (!symbols_open_own(symbols) && !perfdata_kcore_dir_link(*capture_fd, symbols->fd))
		return;
	closep(&symbols->fd);
	symbols->fd = TAKE_FD(*capture_fd);
}

int kernel_symbols_prepare(struct kernel_symbols *symbols, int root_fd)
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
	/* Drop an incomplete copy. */
	if (err)
		closep(&symbols->fd);
	return err;
}

int kernel_symbols_write(struct kernel_symbols *symbols, struct perfdata *pd, int root_fd)
{
	_cleanup_close_ int to = fcntl(perfdata_dirfd(pd), F_DUPFD_CLOEXEC, 0);
	int err = -ENOENT;

	if (to < 0)
		return -errno;
	if (symbols->fd >= 0)
		err = perfdata_kcore_dir_link(symbols->fd, to);
	if (err != -ENOENT)
		return err;
	/* The first capture, or the copy was removed. */
	if (symbols->prepared) {
		err = kernel_symbols_prepare(symbols, root_fd);
		return err ? err : perfdata_kcore_dir_link(symbols->fd, to);
	}
	err = perfdata_kcore_dir(to, root_fd);
	if (!err)
		symbols_hold_copy(symbols, &to);
	return err;
}

void kernel_symbols_close(struct kernel_symbols *symbols)
{
	closep(&symbols->fd);
}

/* buildid/.build-id/00/11223344.../vdso */
static void make_vdso_path(const struct build_id *id, char *path, size_t size)
{
	int length = snprintf(path, size, "buildid/.build-id/");

	for (size_t i = 0; i < id->size; i++)
		length += snprintf(path + length, size - length, i == 1 ? "/%02x" : "%02x",
				   id->bytes[i]);
	snprintf(path + length, size - length, "/vdso");
}

static int make_vdso_folders(int dirfd, char *path)
{
	for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		int err;

		*slash = '\0';
		err = mkdirat(dirfd, path, 0700);
		*slash = '/';
		if (err && errno != EEXIST)
			return -errno;
	}
	return 0;
}

int kernel_symbols_write_vdso(int dirfd)
{
	_cleanup_close_ int fd = -1;
	struct vdso vdso;
	char path[96];
	int err;

	/* Without a vDSO the trace has none of its code. */
	if (vdso_find_own(&vdso))
		return 0;
	make_vdso_path(&vdso.id, path, sizeof(path));
	err = make_vdso_folders(dirfd, path);
	if (err)
		return err;
	fd = openat(dirfd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = write_all(fd, vdso.image, vdso.size);
	/* Some file systems report a full disk only at close. */
	if (close(TAKE_FD(fd)) && !err)
		err = -errno;
	return err;
}
