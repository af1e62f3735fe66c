// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* kcore_dir: the kernel's symbols and code, for reading a capture elsewhere or later. */
#include "internal.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "io.h"

static const char *const names[] = { "kallsyms", "modules" };
/* large and optional */
static const char code[] = "kcore";

static int make_dir(int *ret, int dirfd)
{
	int fd;

	if (mkdirat(dirfd, "kcore_dir", 0700) < 0)
		return -errno;
	fd = openat(dirfd, "kcore_dir", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret = fd;
	return 0;
}

/* A missing file becomes empty: perf needs `modules` even if the kernel has none. */
static int copy_file(int from_fd, int to_fd, const char *name)
{
	_cleanup_buf_ struct perfdata_buf content = {};
	_cleanup_close_ int fd = -1;
	int r;

	r = perfdata_buf_read_file(&content, from_fd, name);
	if (r < 0 && r != -ENOENT)
		return r;
	fd = openat(to_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
	if (fd < 0)
		return -errno;
	r = write_all(fd, content.data, content.len);
	if (r < 0)
		return r;
	if (close(TAKE_FD(fd)) < 0)
		return -errno;
	return 0;
}

int perfdata_kcore_dir(int dirfd, int rootfd)
{
	_cleanup_close_ int from_fd = openat(rootfd, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int to_fd = -1;
	int r;

	if (from_fd < 0)
		return -errno;
	r = make_dir(&to_fd, dirfd);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		r = copy_file(from_fd, to_fd, names[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

static int copy_code(int from_dirfd, int to_dirfd)
{
	_cleanup_close_ int from = openat(from_dirfd, code, O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int to = -1;
	ssize_t n;

	if (from < 0)
		return -errno;
	to = openat(to_dirfd, code, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
	if (to < 0)
		return -errno;
	do
		n = sendfile(to, from, NULL, 1 << 30);
	while (n > 0);
	if (n < 0)
		return -errno;
	return close(TAKE_FD(to)) ? -errno : 0;
}

static int link_code(int from_dirfd, int to_dirfd)
{
	int r;

	if (linkat(from_dirfd, code, to_dirfd, code, 0) == 0)
		return 0;
	r = errno == ENOENT ? -ENOENT : copy_code(from_dirfd, to_dirfd);
	return r == -ENOENT ? 0 : r;
}

int perfdata_kcore_dir_link(int from_dirfd, int to_dirfd)
{
	_cleanup_close_ int from_fd =
		openat(from_dirfd, "kcore_dir", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int to_fd = -1;
	int r;

	if (from_fd < 0)
		return -errno;
	r = make_dir(&to_fd, to_dirfd);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (linkat(from_fd, names[i], to_fd, names[i], 0) == 0)
			continue;
		r = copy_file(from_fd, to_fd, names[i]);
		if (r < 0)
			return r;
	}
	return link_code(from_fd, to_fd);
}
