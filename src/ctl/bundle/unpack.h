/* SPDX-License-Identifier: GPL-2.0-only */
/* Unpacks an untrusted archive of a capture or a selftest. */
#ifndef CTL_BUNDLE_UNPACK_H
#define CTL_BUNDLE_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util.h"

struct unpack_limits {
	uint64_t max_size;  /* total bytes of all files, including holes */
	size_t max_entries; /* files and folders */
};

struct unpack_source {
	int fd;		  /* unless data is set */
	const void *data; /* or NULL */
	size_t size;
	bool any_top; /* accept any name of the top folder */
	/* Callbacks, or NULL. A result other than 0 ends the work and is returned. */
	int (*progress)(void *ctx, uint64_t bytes);   /* bytes have been written */
	int (*wait)(void *ctx, int fd, short events); /* wait until fd is readable */
	void *ctx;
};

/*
 * Unpacks the contents of the single top folder into the empty folder dirfd. *top (allocated) is
 * the name of the top folder: that of a capture, or LAYOUT_SELFTEST.
 *
 * Only the files of a capture (or of a selftest with its captures) are accepted, and hard links
 * among them. Stops at anything else and at duplicate names; files unpacked before remain.
 *
 * Changes the working directory while it runs. Returns 0, -EINVAL with *why (allocated), or another
 * negative errno with or without *why.
 */
int unpack(const struct unpack_source *source, int dirfd, const struct unpack_limits *limits,
	   char **top, char **why) _must_check_;

#endif
