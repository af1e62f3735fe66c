/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef LIB_BASE_READ_TEXT_H
#define LIB_BASE_READ_TEXT_H

#include <stddef.h>

/* Reads a small file, as those of procfs, sysfs and tracefs, without the newline at its end.
 * Returns 0 or a negative errno. */
int read_text_at(int dirfd, const char *path, char *text, size_t size);

#endif
