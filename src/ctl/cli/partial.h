/* SPDX-License-Identifier: GPL-2.0-only */
/* An incomplete file or folder under a hidden name. */
#ifndef CTL_CLI_PARTIAL_H
#define CTL_CLI_PARTIAL_H

#include "util.h"

struct partial {
	char *path;
	int fd;
	int place; /* the parent folder, with a shared lock */
};

extern const struct partial partial_none;

/*
 * Creates a file or folder next to `beside`. Removes leftovers of killed processes first, unless
 * somebody else holds the lock of the parent folder; sessions take the same lock. Returns 0 or a
 * negative errno. Call partial_release() even on failure.
 */
int partial_file(struct partial *partial, const char *beside) _must_check_;
int partial_folder(struct partial *partial, const char *beside) _must_check_;

/* It has been renamed. */
void partial_keep(struct partial *partial);

/* Removes it unless it was kept. */
void partial_release(struct partial *partial);

#endif
