/* SPDX-License-Identifier: GPL-2.0-only */
/* A file that appears when it is complete, or not at all, and replaces none. */
#ifndef CTL_OUTPUT_FILE_H
#define CTL_OUTPUT_FILE_H

#include "util.h"

struct output_file {
	const char *path; /* not a copy */
	char *partial;	  /* its name until it is complete */
	int fd;
};

/* Of a file that is there nothing is touched: -EEXIST. For output_file_close(), also on failure. */
int output_file_open(struct output_file *file, const char *path) _must_check_;

/* Gives it its name. Returns 0 or a negative errno. */
int output_file_publish(struct output_file *file) _must_check_;

/* Removes what was not published. */
void output_file_close(struct output_file *file);

#endif
