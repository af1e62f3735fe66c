/* SPDX-License-Identifier: GPL-2.0-only */
/* The files of a result: each is written under a name of its own first. */
#ifndef REPORT_FXT_FILE_H
#define REPORT_FXT_FILE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "util.h"

struct fxt_file {
	struct gzFile_s *gzip; /* NULL: not compressed; else it has the descriptor */
	int fd;
	char *path, *scratch;
};

/* A file without a name, where `path` is to be. Returns 0 or a negative errno. */
int fxt_file_scratch(const char *path, FILE **ret) _must_check_;

/* The path of one of several files: `a.fxt.gz` is `a.003.fxt.gz`. NULL if there is no memory. */
char *fxt_file_path(const char *path, int number);

/* For writing; compressed if the path ends with .gz. A number of -1: the only one. These return 0
 * or a negative errno. */
int fxt_file_open(struct fxt_file *out, const char *path, int number) _must_check_;
int fxt_file_write(struct fxt_file *out, const void *bytes, size_t size) _must_check_;
/* -EINTR once *stop is not 0; or NULL. */
int fxt_file_copy(struct fxt_file *out, int fd, int64_t begin, int64_t end,
		  const volatile sig_atomic_t *stop) _must_check_;

int fxt_file_close(struct fxt_file *out) _must_check_;

/* Gives it its name. */
int fxt_file_publish(struct fxt_file *out) _must_check_;

/* Removes what was not published. */
void fxt_file_release(struct fxt_file *out);

#endif
