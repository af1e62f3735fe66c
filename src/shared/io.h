/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Reading and writing files. All return a negative errno on failure. */
#ifndef SHARED_IO_H
#define SHARED_IO_H

#include <stddef.h>

/* Repeats write() until all bytes are written. */
int write_all(int fd, const void *data, size_t len);

/* Reads a small file, such as those of procfs, sysfs and tracefs, without its last newline. */
int read_text_at(int dirfd, const char *path, char *text, size_t size);

/* Opens a regular file for reading: a FIFO, for example, could block. Returns a descriptor, or
 * -EINVAL for other types. */
int regular_open(int dirfd, const char *path);

/* Message for an error of regular_open(). */
const char *regular_strerror(int err);

#endif
