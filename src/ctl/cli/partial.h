/* SPDX-License-Identifier: GPL-2.0-only */
/* What is being made, under a hidden name until it is complete. */
#ifndef CTL_CLI_PARTIAL_H
#define CTL_CLI_PARTIAL_H

#include "util.h"

struct partial {
	char *path;
	int fd;
	int place; /* the folder that it is in, with a shared lock */
};

extern const struct partial partial_none;

/*
 * Makes a file, or a folder, where `beside` is or will be. What others that were killed have left
 * there is removed first, if nobody else is at work in that folder: sessions hold the same lock.
 * Returns 0 or a negative errno. For partial_release(), also on failure.
 */
int partial_file(struct partial *partial, const char *beside) _must_check_;
int partial_folder(struct partial *partial, const char *beside) _must_check_;

/* It has its name. */
void partial_keep(struct partial *partial);

/* Removes it if it was not kept. */
void partial_release(struct partial *partial);

#endif
