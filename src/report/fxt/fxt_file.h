/* SPDX-License-Identifier: GPL-2.0-only */
/* Output files, written under a temporary name first. */
#ifndef REPORT_FXT_FILE_H
#define REPORT_FXT_FILE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "util.h"

struct fxt_file {
	struct gzFile_s *gzip; /* owns the descriptor; NULL: not compressed */
	int fd;
	char *path, *scratch;
};

/* Creates an unlinked file in the folder of `path`. Returns 0 or a negative errno. */
int fxt_file_scratch(const char *path, FILE **ret) _must_check_;

/* The path of one of several files: `a.fxt.gz` becomes `a.003.fxt.gz`. NULL if out of memory. */
char *fxt_file_path(const char *path, int number);

/* Opens a file for writing, compressed if the path ends with .gz. A number of -1 means a single
 * file. All return 0 or a negative errno. */
int fxt_file_open(struct fxt_file *out, const char *path, int number) _must_check_;
int fxt_file_write(struct fxt_file *out, const void *bytes, size_t size) _must_check_;
/* Returns -EINTR once *stop is set; stop may be NULL. */
int fxt_file_copy(struct fxt_file *out, int fd, int64_t begin, int64_t end,
		  const volatile sig_atomic_t *stop) _must_check_;

int fxt_file_close(struct fxt_file *out) _must_check_;

/* Renames it to its path. */
int fxt_file_publish(struct fxt_file *out) _must_check_;

/* Removes it unless published. */
void fxt_file_release(struct fxt_file *out);

#endif
