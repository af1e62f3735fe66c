// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/removal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "tree.h"
#include "util.h"

static int removal_open(struct removal *removal, const struct kept *kept)
{
	struct stat st;

	removal->fd = openat(removal->output->fd, kept->name,
			     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (removal->fd < 0)
		/* A link or a file. */
		return errno == ELOOP || errno == ENOTDIR ? -ESTALE : -errno;
	if (fstat(removal->fd, &st))
		return -errno;
	return st.st_dev == kept->dev && st.st_ino == kept->ino ? 0 : -ESTALE;
}

static int removal_rename(struct removal *removal, const struct kept *kept)
{
	const struct output *output = removal->output;
	struct stat st;

	snprintf(removal->partial, sizeof(removal->partial), "removed-%" PRIu64,
		 (uint64_t)kept->ino);
	if (renameat(output->fd, kept->name, output->work, removal->partial))
		return -errno;
	if (!fstatat(output->work, removal->partial, &st, AT_SYMLINK_NOFOLLOW) &&
	    st.st_dev == kept->dev && st.st_ino == kept->ino)
		return 0;
	/* Another folder took its name in between. */
	renameat(output->work, removal->partial, output->fd, kept->name);
	return -ESTALE;
}

int removal_begin(struct removal **ret, const struct output *output, const struct kept *kept)
{
	struct removal *removal = calloc(1, sizeof(*removal));
	int err;

	if (!removal)
		return -ENOMEM;
	removal->output = output;
	err = removal_open(removal, kept);
	if (!err)
		err = removal_rename(removal, kept);
	if (err) {
		closep(&removal->fd);
		free(removal);
		return err;
	}
	*ret = removal;
	return 0;
}

void removal_end(struct removal *removal)
{
	tree_remove_entries(removal->fd, "");
	unlinkat(removal->output->work, removal->partial, AT_REMOVEDIR);
	closep(&removal->fd);
	free(removal);
}
