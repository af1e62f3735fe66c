/* SPDX-License-Identifier: GPL-2.0-only */
/* The files of a result: each is written under a name of its own first. */
#ifndef DLFILTER_ARCHIVE_H
#define DLFILTER_ARCHIVE_H

#include <stdint.h>
#include <stdio.h>
#include <zlib.h>

#include "util.h"

struct archive {
	gzFile file;
	char *path, *scratch;
};

/* A file without a name, where `path` is to be. Returns 0 or a negative errno. */
int archive_scratch(const char *path, FILE **ret) _must_check_;

/* The path of one of several files: `a.fxt.gz` is `a.003.fxt.gz`. NULL if there is no memory. */
char *archive_path(const char *path, int number);

/* For writing; compressed if the path ends with .gz. A number of -1: the only one. These return 0
 * or a negative errno. */
int archive_open(struct archive *archive, const char *path, int number) _must_check_;
int archive_write(struct archive *archive, const void *bytes, size_t size) _must_check_;
int archive_copy(struct archive *archive, int fd, int64_t begin, int64_t end) _must_check_;
int archive_close(struct archive *archive) _must_check_;

/* Gives it its name. */
int archive_publish(struct archive *archive) _must_check_;

/* Removes what was not published. */
void archive_release(struct archive *archive);

#endif
