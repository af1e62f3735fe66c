/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Folders with all that is in them; links are not followed. */
#ifndef SHARED_TREE_H
#define SHARED_TREE_H

#include <stdbool.h>
#include <stdint.h>

/* Removes it. Returns 0 or a negative errno; goes on after a failure. */
int tree_remove(int dirfd, const char *name);

/* Removes those in the folder whose names begin with prefix. */
int tree_remove_entries(int dirfd, const char *prefix);

/* Whether the folder has no name any more. */
bool tree_is_removed(int fd);

/* Removes folders whose names begin with prefix (hidden ones only if it does), unless somebody
 * holds a lock on them: flock(2). */
void tree_sweep(int dirfd, const char *prefix);

/* Removes a folder, unless somebody holds a lock on it. Returns 0 or a negative errno. */
int tree_remove_unlocked(int dirfd, const char *name, int fd);

/* Bytes of files, by their lengths. */
struct tree_size {
	uint64_t all;	/* as if no other folder had any of them */
	uint64_t own;	/* of those that are in no other */
	uint64_t share; /* of those too that are linked elsewhere, each divided by its links */
};

/* Of all files in it. What cannot be looked into counts nothing. */
struct tree_size tree_size(int dirfd, const char *name);

#endif
