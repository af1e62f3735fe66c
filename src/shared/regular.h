/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SHARED_REGULAR_H
#define SHARED_REGULAR_H

/* Opens a regular file for reading; a FIFO, for instance, could block forever. Returns the
 * descriptor, -EINVAL if it is not a regular file, or another negative errno. */
int regular_open(int dirfd, const char *path);

/* Message for an error of regular_open(). */
const char *regular_strerror(int err);

#endif
