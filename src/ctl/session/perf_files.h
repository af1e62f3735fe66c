/* SPDX-License-Identifier: GPL-2.0-only */
/* The files or folders that perf record has written. */
#ifndef CTL_SESSION_PERF_FILES_H
#define CTL_SESSION_PERF_FILES_H

#include <sys/types.h>

#include "cli/cli.h"

struct perf_file {
	char *path;
	dev_t dev;
	ino_t ino;
};

struct perf_files {
	struct perf_file *files;
	size_t nr;
};

/* Finds `output` and the `output`.TIMESTAMP of --switch-output. Returns 0 or -ENOMEM. */
int perf_files_find(struct perf_files *found, const char *output) _must_check_;

/* Drops files that existed before, by inode: perf creates new ones. */
void perf_files_subtract(struct perf_files *found, const struct perf_files *before);

/*
 * Moves the files into a new folder in `folder`, which is created if missing, and runs `perf
 * archive` on each. Updates the paths of moved files. Returns 0, or a negative errno after printing
 * the error.
 */
int perf_files_archive(struct perf_files *files, const char *folder, const char *perf,
		       struct console *con) _must_check_;

/* Whether it is the name of a folder of perf_files_archive(). */
bool perf_files_is_folder(const char *name);

void perf_files_release(struct perf_files *files);

#endif
