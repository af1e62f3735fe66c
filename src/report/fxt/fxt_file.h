/* SPDX-License-Identifier: GPL-2.0-only */
/* The files of a result: each is written under a name of its own first. */
#ifndef REPORT_FXT_FILE_H
#define REPORT_FXT_FILE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "gzip.h"
#include "util.h"

struct fxt_file {
	struct gzip *gzip; /* NULL: not compressed */
	int fd;
	int64_t at; /* then */
	char *path, *scratch;
};

/* How much is copied. */
struct fxt_copying {
	unsigned int processes;		      /* that share it */
	int64_t shared_min;		      /* less is not shared */
	const volatile sig_atomic_t *stopped; /* -EINTR once it is not 0; or NULL */
};

/* A file without a name, where `path` is to be. Returns 0 or a negative errno. */
int fxt_file_scratch(const char *path, FILE **ret) _must_check_;

/* The path of one of several files: `a.fxt.gz` is `a.003.fxt.gz`. NULL if there is no memory. */
char *fxt_file_path(const char *path, int number);

/* For writing; compressed if the path ends with .gz. A number of -1: the only one. These return 0
 * or a negative errno. */
int fxt_file_open(struct fxt_file *out, const char *path, int number) _must_check_;
int fxt_file_write(struct fxt_file *out, const void *bytes, size_t size) _must_check_;
int fxt_file_copy(struct fxt_file *out, int fd, int64_t begin, int64_t end,
		  const struct fxt_copying *copying) _must_check_;

/* Of what comes next another process can write a part: of a multiple of so many bytes, after so
 * many others. */
int64_t fxt_file_unit(const struct fxt_file *out);
int64_t fxt_file_lead(const struct fxt_file *out);

struct fxt_part {
	int64_t size;
	FILE *file; /* NULL: it is written where it is to be */
};

/* To be prepared by one process. The other one begins and ends it: it begins so many bytes from
 * here. Then it is put in, before anything else is written; it is released by that too. */
int fxt_part_prepare(struct fxt_part *part, const struct fxt_file *out, int64_t size) _must_check_;
int fxt_part_begin(const struct fxt_part *part, struct fxt_file *out,
		   int64_t distance) _must_check_;
int fxt_part_end(const struct fxt_part *part, struct fxt_file *out) _must_check_;
int fxt_part_put(struct fxt_part *part, struct fxt_file *out) _must_check_;
void fxt_part_release(struct fxt_part *part);

int fxt_file_close(struct fxt_file *out) _must_check_;

/* Gives it its name. */
int fxt_file_publish(struct fxt_file *out) _must_check_;

/* Removes what was not published. */
void fxt_file_release(struct fxt_file *out);

#endif
