/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes an archive of files: tar, compressed by zstd. Everything in it is in one folder.
 *
 * bundle/ writes and reads archives of captures, with the binaries and facts of the host that a
 * reader elsewhere needs. It may include capture/.
 */
#ifndef CTL_BUNDLE_PACK_H
#define CTL_BUNDLE_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "util.h"

struct pack;

/* Where it goes. */
struct pack_sink {
	int fd;
	/* Told of bytes that have been read; what it returns, if not 0, ends the work, and is
	 * returned. Or NULL. */
	int (*progress)(void *ctx, uint64_t bytes);
	/* The same; waits until fd can be written to. Or NULL. */
	int (*wait)(void *ctx, int fd, short events);
	void *ctx;
};

/*
 * Names in the archive begin with top. The sink must live as long.
 *
 * All of these return 0, or a negative errno; *why, for the caller to free, may say what it was
 * about.
 */
int pack_new(struct pack **ret, const struct pack_sink *sink, const char *top,
	     char **why) _must_check_;

/* From here on names begin with this top. */
int pack_begin(struct pack *pack, const char *top, char **why) _must_check_;

/* What comes into a folder needs that first. With those above it; each once. */
int pack_folder(struct pack *pack, const char *name, char **why) _must_check_;

/* A file that is open to be read. Holes stay holes, and a further name of one that was packed
 * becomes a hard link. */
int pack_file(struct pack *pack, const char *name, int fd, char **why) _must_check_;

int pack_text(struct pack *pack, const char *name, const void *text, size_t size,
	      char **why) _must_check_;

/* A folder with all that a capture has, sorted. What else is in it is told to skipped and left out.
 */
int pack_tree(struct pack *pack, int dirfd, void (*skipped)(void *ctx, const char *name),
	      char **why) _must_check_;

/* Writes what is left. */
int pack_finish(struct pack *pack, char **why) _must_check_;

void pack_free(struct pack *pack);

#endif
