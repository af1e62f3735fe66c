/* SPDX-License-Identifier: GPL-2.0-only */
/* The files, or folders, that a perf record has written. */
#ifndef CTL_SESSION_PERF_FILES_H
#define CTL_SESSION_PERF_FILES_H

#include <sys/types.h>

#include "cli/console.h"

struct perf_file {
	char *path;
	dev_t dev;
	ino_t ino;
};

struct perf_files {
	struct perf_file *files;
	size_t nr;
};

/* What is there as `output`, and as `output`.TIMESTAMP of --switch-output. Returns 0 or -ENOMEM. */
int perf_files_find(struct perf_files *found, const char *output) _must_check_;

/* Drops what was there before. Perf makes new files, it does not write to old ones. */
void perf_files_subtract(struct perf_files *found, const struct perf_files *before);

/*
 * Moves them into a new folder in `folder`, which is made when missing, and has `perf` archive the
 * programs and libraries that they refer to. Paths follow what was moved; what cannot be moved
 * stays where it is. Returns 0, or a negative errno and the error has been printed.
 */
int perf_files_archive(struct perf_files *files, const char *folder, const char *perf,
		       struct console *con) _must_check_;

/* Whether a folder of this name is one that perf_files_archive() makes. */
bool perf_files_is_folder(const char *name);

void perf_files_release(struct perf_files *files);

#endif
