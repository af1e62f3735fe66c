/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Recursive operations on folders. Symbolic links are not followed. */
#ifndef SHARED_TREE_H
#define SHARED_TREE_H

#include <stdbool.h>
#include <stdint.h>

/* Removes a file or a folder. Continues after a failure. Returns 0 or the first negative errno. */
int tree_remove(int dirfd, const char *name);

/* The same for all entries with this prefix. */
int tree_remove_entries(int dirfd, const char *prefix);

/* Whether the open folder has been unlinked. */
bool tree_is_removed(int fd);

/* Removes folders with this prefix, unless locked by flock(2). An empty prefix excludes hidden
 * folders. marked: only those of tree_mark(), because anybody may have renamed a folder. */
void tree_sweep(int dirfd, const char *prefix, bool marked);

/* The file that proves a folder, whatever its name, to be temporary and of this user. Nobody else
 * can write to such a folder. */
#define TREE_MARKER ".perf-poke"

/* Marks an empty folder, which is locked. Returns 0 or a negative errno: -EPERM if others have
 * access to it. */
int tree_mark(int fd);

bool tree_is_marked(int fd);

/* Removes a marked folder, open as fd. Returns 0 or a negative errno. */
int tree_remove_marked(int dirfd, const char *name, int fd);

/* Removes a folder, open as fd, unless it is locked. Returns 0 or a negative errno. */
int tree_remove_unlocked(int dirfd, const char *name, int fd);

/* Sums of file lengths in bytes. */
struct tree_size {
	uint64_t all;
	uint64_t own;	/* only files with one link */
	uint64_t share; /* each length divided by the number of links */
};

/* Unreadable folders count as empty. */
struct tree_size tree_size(int dirfd, const char *name);

#endif
