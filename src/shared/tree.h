/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Folders with all that is in them; links are not followed. */
#ifndef SHARED_TREE_H
#define SHARED_TREE_H

#include <stdint.h>

/* Removes it. Returns 0 or a negative errno; goes on after a failure. */
int tree_remove(int dirfd, const char *name);

/* Removes those in the folder whose names begin with prefix. */
int tree_remove_entries(int dirfd, const char *prefix);

/* Bytes of files, by their lengths. */
struct tree_size {
	uint64_t all;	/* as if no other folder had any of them */
	uint64_t own;	/* of those that are in no other */
	uint64_t share; /* of those too that are linked elsewhere, each divided by its links */
};

/* Of all files in it. What cannot be looked into counts nothing. */
struct tree_size tree_size(int dirfd, const char *name);

#endif
