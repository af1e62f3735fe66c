/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes a .tar.zst archive with a single top folder, and a checksum of all of it.
 *
 * bundle/ writes and reads archives of captures, with the binaries and host facts that readers
 * elsewhere need. It may include capture/.
 */
#ifndef CTL_BUNDLE_PACK_H
#define CTL_BUNDLE_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "util.h"

struct pack;

struct pack_sink {
	int fd;
	/* Callbacks, or NULL. A result other than 0 ends the work and is returned. */
	int (*progress)(void *ctx, uint64_t bytes);   /* bytes have been read */
	int (*wait)(void *ctx, int fd, short events); /* wait until fd is writable */
	void *ctx;
};

/*
 * Names in the archive are prefixed with top. The sink is not copied.
 *
 * All functions return 0, or a negative errno, possibly with *why (allocated).
 */
int pack_new(struct pack **ret, const struct pack_sink *sink, const char *top,
	     char **why) _must_check_;

/* Changes top. */
int pack_begin(struct pack *pack, const char *top, char **why) _must_check_;

/* Adds a folder and its parents, unless added before; needed before their files. */
int pack_folder(struct pack *pack, const char *name, char **why) _must_check_;

/* Adds an open file. Holes are preserved; another link to a file becomes a hard link. */
int pack_file(struct pack *pack, const char *name, int fd, char **why) _must_check_;

int pack_text(struct pack *pack, const char *name, const void *text, size_t size,
	      char **why) _must_check_;

/* Adds the files of a capture, sorted. Other files are skipped and passed to skipped(), if not
 * NULL.
 */
int pack_tree(struct pack *pack, int dirfd, void (*skipped)(void *ctx, const char *name),
	      char **why) _must_check_;

/* Completes the archive. */
int pack_finish(struct pack *pack, char **why) _must_check_;

void pack_free(struct pack *pack);

#endif
