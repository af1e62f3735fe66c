/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SHARED_WRITE_ALL_H
#define SHARED_WRITE_ALL_H

#include <stddef.h>

/* Repeats write() until all bytes are written. Returns 0 or a negative errno. */
int write_all(int fd, const void *data, size_t len);

#endif
