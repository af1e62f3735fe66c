/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Removal of folders with all that is in them; links are removed, not followed. */
#ifndef SHARED_TREE_H
#define SHARED_TREE_H

/* Returns 0 or a negative errno; goes on after a failure. */
int tree_remove(int dirfd, const char *name);

/* Those in the folder whose names begin with prefix. */
int tree_remove_entries(int dirfd, const char *prefix);

#endif
