// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "recorder/vdso_write.h"

#include <string.h>
#include <sys/stat.h>

#include "vdso.h"
#include "write_all.h"

/* buildid/.build-id/00/11223344.../vdso: the first byte is a folder of its own. */
static void make_path(const struct build_id *id, char *path, size_t size)
{
	int length = snprintf(path, size, "buildid/.build-id/");

	for (size_t i = 0; i < id->size; i++)
		length += snprintf(path + length, size - length, i == 1 ? "/%02x" : "%02x",
				   id->bytes[i]);
	snprintf(path + length, size - length, "/vdso");
}

static int make_folders(int dirfd, char *path)
{
	for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		int r;

		*slash = '\0';
		r = mkdirat(dirfd, path, 0700);
		*slash = '/';
		if (r && errno != EEXIST)
			return -errno;
	}
	return 0;
}

int vdso_write(int dirfd)
{
	_cleanup_close_ int fd = -1;
	struct vdso vdso;
	char path[96];
	int r;

	/* Then no code of it is in the trace. */
	if (vdso_find(&vdso))
		return 0;
	make_path(&vdso.id, path, sizeof(path));
	r = make_folders(dirfd, path);
	if (r)
		return r;
	fd = openat(dirfd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = write_all(fd, vdso.image, vdso.size);
	/* Some file systems tell of a full disk only here. */
	if (close(TAKE_FD(fd)) && !r)
		r = -errno;
	return r;
}
