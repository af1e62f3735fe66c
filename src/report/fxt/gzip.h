/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A file of gzip that several processes can make parts of: what is put in is cut into chunks, and
 * each is compressed by itself. So the bytes are the same however many made it.
 */
#ifndef REPORT_GZIP_H
#define REPORT_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util.h"

#define GZIP_CHUNK (256 << 10)

struct gzip;

/* Written to a descriptor, which stays the caller's. A part begins with a chunk. These return 0 or
 * a negative errno. */
int gzip_new(struct gzip **ret, int fd) _must_check_;
int gzip_new_part(struct gzip **ret, int fd) _must_check_;
void gzip_free(struct gzip *gzip);

int gzip_write(struct gzip *gzip, const void *bytes, size_t size) _must_check_;

/* Bytes to where a chunk begins. */
size_t gzip_lead(const struct gzip *gzip);

/* A part that has been finished is next; of so many bytes, which are whole chunks. */
int gzip_append(struct gzip *gzip, int fd, int64_t size) _must_check_;

int gzip_finish(struct gzip *gzip) _must_check_;

#endif
