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

void perf_files_release(struct perf_files *files);

#endif
