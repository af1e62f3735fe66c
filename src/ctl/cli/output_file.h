/* SPDX-License-Identifier: GPL-2.0-only */
/* A file that appears when it is complete, or not at all, and replaces none unless it is told to.
 */
#ifndef CTL_CLI_OUTPUT_FILE_H
#define CTL_CLI_OUTPUT_FILE_H

#include <stdbool.h>

#include "cli/partial.h"

struct output_file {
	const char *path;	/* not a copy */
	struct partial partial; /* until it is complete */
	int fd;
	bool force; /* replace what is there */
};

#define OUTPUT_FORCE_HELP "overwrite a file that exists"

/* -EEXIST: the file exists, and `force` is not set. For output_file_close(), also on failure. */
int output_file_open(struct output_file *file, const char *path, bool force) _must_check_;

/* Gives it its name. Returns 0 or a negative errno. */
int output_file_publish(struct output_file *file) _must_check_;

/* Removes what was not published. */
void output_file_close(struct output_file *file);

bool output_file_exists(const char *path);

/* Gives `partial`, in dirfd, its name. Returns 0 or a negative errno, as output_file_open(). */
int output_file_rename(int dirfd, const char *partial, const char *path, bool force) _must_check_;

/* What a person is told of an error of these. */
const char *output_file_strerror(int err);

#endif
