/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Files and folders. All that return int return a negative errno on failure. */
#ifndef SHARED_IO_H
#define SHARED_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Repeats write() until all bytes are written. */
int write_all(int fd, const void *data, size_t len);

/* Reads a small file, such as those of procfs, sysfs and tracefs, without its last newline. */
int read_text_at(int dirfd, const char *path, char *text, size_t size);

/* Opens a regular file for reading: a FIFO, for example, could block. Returns a descriptor, or
 * -EINVAL for other types. */
int regular_open(int dirfd, const char *path);

/* Message for an error of regular_open(). */
const char *regular_strerror(int err);

/* Recursive operations on folders. Symbolic links are not followed. */

/* Removes a file or a folder. Continues after a failure. Folders that are nested more deeply than a
 * capture's stay, whoever made them. Returns 0 or the first negative errno. */
int tree_remove(int dirfd, const char *name);

/* The same for all entries with this prefix. */
int tree_remove_entries(int dirfd, const char *prefix);

/* Whether the open folder has been unlinked. */
bool tree_is_removed(int fd);

bool tree_is_empty(int fd);

/* Removes folders with this prefix, unless locked by flock(2). An empty prefix excludes hidden
 * folders. marked: only those of tree_mark_own(), because anybody may have renamed a folder. */
void tree_remove_leftovers(int dirfd, const char *prefix, bool marked);

/* The file that proves a folder, whatever its name, to be temporary and of this user. Nobody else
 * can write to such a folder. */
#define TREE_MARKER ".perf-poke"

/* Marks an empty folder, which is locked. Returns 0 or a negative errno: -EPERM if others have
 * access to it. */
int tree_mark_own(int fd);

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

/* Makes the user the owner of a file or folder and all below it; groups stay. Nobody else may be
 * able to change it meanwhile. Returns 0 or a negative errno. */
int tree_set_owner(int dirfd, const char *name, uid_t uid);

/* Writes a file, or a folder and all below it, to the disk. Returns 0 or a negative errno. */
int tree_sync(int dirfd, const char *name);

#endif
