/* SPDX-License-Identifier: GPL-2.0-only */
/* Unpacks an archive of a capture, or of a self-test, which may be of a stranger. */
#ifndef CTL_BUNDLE_UNPACK_H
#define CTL_BUNDLE_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util.h"

struct unpack_limits {
	uint64_t max_size;  /* bytes of all files together, holes too */
	size_t max_entries; /* files and folders */
};

struct unpack_source {
	int fd;		  /* of the archive; not used if there is data */
	const void *data; /* or NULL */
	size_t size;
	bool any_top; /* what the folder in it is named does not matter */
	/* Told of bytes that have been written; what it returns, if not 0, ends it. Or NULL. */
	int (*progress)(void *ctx, uint64_t bytes);
	/* Waits until fd can be read; what it returns, if not 0, ends it. Or NULL. */
	int (*wait)(void *ctx, int fd, short events);
	void *ctx;
};

/*
 * Unpacks into an empty folder: what is in the one folder that the archive must consist of. That
 * one's name, which is one that captures have or LAYOUT_SELFTEST, is left in *top, for the caller
 * to free.
 *
 * An archive has the files and folders of a capture (or of several, with what a self-test tells of
 * them, if it is named so), and hard links among its files. Of one that
 * has anything else, or a name twice, nothing more is unpacked. What was unpacked by then stays.
 *
 * Changes the working folder while it runs. Returns 0; -EINVAL with *why, for the caller to free;
 * or another negative errno, with or without.
 */
int unpack(const struct unpack_source *source, int dirfd, const struct unpack_limits *limits,
	   char **top, char **why) _must_check_;

#endif
