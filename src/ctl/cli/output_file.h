/* SPDX-License-Identifier: GPL-2.0-only */
/* An output file, published by rename once it is complete. It replaces an existing file only with
 * --force. */
#ifndef CTL_CLI_OUTPUT_FILE_H
#define CTL_CLI_OUTPUT_FILE_H

#include <stdbool.h>

#include "cli/partial.h"

struct output_file {
	const char *path;	/* not a copy */
	struct partial partial; /* until published */
	int fd;
	bool force;
};

#define OUTPUT_FORCE_HELP "overwrite an existing file"

/* All return 0 or a negative errno: -EEXIST if the file exists and `force` is not set. Call
 * output_file_close() after output_file_open(), even if that failed. */
int output_file_open(struct output_file *file, const char *path, bool force) _must_check_;
int output_file_publish(struct output_file *file) _must_check_;

/* Removes the file unless it was published. */
void output_file_close(struct output_file *file);

bool output_file_exists(const char *path);

/* Renames `partial` in dirfd to path. */
int output_file_rename(int dirfd, const char *partial, const char *path, bool force) _must_check_;

/* Message for an error of these functions. */
const char *output_file_strerror(int err);

#endif
