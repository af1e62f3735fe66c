/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SHARED_REGULAR_H
#define SHARED_REGULAR_H

/* Opens a regular file to read it. Opening or reading anything else, such as a pipe, may wait for
 * ever. Returns the descriptor, -EINVAL if it is something else, or another negative errno. */
int regular_open(int dirfd, const char *path);

/* What a person is told of an error of it. */
const char *regular_strerror(int err);

#endif
