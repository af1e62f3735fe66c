// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "removal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "capture.h"
#include "tree.h"
#include "util.h"

static int removal_open(struct removal *removal, int output_fd, const struct kept *kept)
{
	struct stat st;

	removal->fd =
		openat(output_fd, kept->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (removal->fd < 0)
		/* A link, or a file. */
		return errno == ELOOP || errno == ENOTDIR ? -ESTALE : -errno;
	if (fstat(removal->fd, &st))
		return -errno;
	return st.st_dev == kept->dev && st.st_ino == kept->ino ? 0 : -ESTALE;
}

static int removal_rename(struct removal *removal, int output_fd, const struct kept *kept)
{
	struct stat st;

	snprintf(removal->partial, sizeof(removal->partial), CAPTURE_PARTIAL "%d-removed-%" PRIu64,
		 getpid(), (uint64_t)kept->ino);
	if (renameat(output_fd, kept->name, output_fd, removal->partial))
		return -errno;
	if (!fstatat(output_fd, removal->partial, &st, AT_SYMLINK_NOFOLLOW) &&
	    st.st_dev == kept->dev && st.st_ino == kept->ino)
		return 0;
	/* Another has taken its place between the two. */
	renameat(output_fd, removal->partial, output_fd, kept->name);
	return -ESTALE;
}

int removal_begin(struct removal **ret, int output_fd, const struct kept *kept)
{
	struct removal *removal = calloc(1, sizeof(*removal));
	int err;

	if (!removal)
		return -ENOMEM;
	err = removal_open(removal, output_fd, kept);
	if (!err)
		err = removal_rename(removal, output_fd, kept);
	if (err) {
		closep(&removal->fd);
		free(removal);
		return err;
	}
	*ret = removal;
	return 0;
}

void removal_end(int output_fd, struct removal *removal)
{
	tree_remove_entries(removal->fd, "");
	unlinkat(output_fd, removal->partial, AT_REMOVEDIR);
	closep(&removal->fd);
	free(removal);
}
