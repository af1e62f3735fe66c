// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files of a capture that somebody changes while they are read.
 *
 * Readers take any content, and zeros where a mapped file has become shorter (reader.c). But what
 * is read from two versions of a file makes no sense. So sizes and times are compared afterwards.
 */
#include "capture/captures.h"

#include <sys/stat.h>

#include "cli/cli.h"

static const char *const names[UNCHANGED_FILES] = {
	CAPTURE_FILE_NAME,
	"perf.data/data",
	"perf.data/kcore_dir/kcore",
	"perf.data/kcore_dir/kallsyms",
	"perf.data/kcore_dir/modules",
};

void unchanged_begin(struct unchanged *unchanged, const char *folder)
{
	(void)reader_was_truncated();
	*unchanged = (struct unchanged){ .folder = folder };
	unchanged->dirfd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (fstatat(unchanged->dirfd, names[i], &unchanged->files[i], 0))
			unchanged->files[i] = (struct stat){ 0 };
	}
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

int unchanged_end(struct unchanged *unchanged, struct console *con, int r)
{
	bool truncated = reader_was_truncated();
	const char *changed = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(names) && !changed; i++) {
		struct stat now = { 0 };

		if (fstatat(unchanged->dirfd, names[i], &now, 0))
			now = (struct stat){ 0 };
		if (!is_same(&now, &unchanged->files[i]))
			changed = names[i];
	}
	closep(&unchanged->dirfd);
	if (changed)
		console_error(con, "'%s/%s' was changed while it was read", unchanged->folder,
			      changed);
	else if (truncated)
		console_error(con, "'%s': a file that it needs was truncated while it was read",
			      unchanged->folder);
	return changed || truncated ? -ESTALE : r;
}
