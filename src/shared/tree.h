/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Folders with all that is in them; links are not followed. */
#ifndef SHARED_TREE_H
#define SHARED_TREE_H

#include <stdint.h>

/* Removes it. Returns 0 or a negative errno; goes on after a failure. */
int tree_remove(int dirfd, const char *name);

/* Removes those in the folder whose names begin with prefix. */
int tree_remove_entries(int dirfd, const char *prefix);

/* Bytes of all files in it, by their lengths. What cannot be looked into counts nothing. */
uint64_t tree_size(int dirfd, const char *name);

#endif
