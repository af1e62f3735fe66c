/* SPDX-License-Identifier: GPL-2.0-only */
/* What is written of a timeline, when several processes write a piece each. */
#ifndef DLFILTER_PIECES_H
#define DLFILTER_PIECES_H

#include "fxt_file.h"

/* In its file come then the offsets of parts that begin in it. */
struct piece {
	int fd;
	int64_t size;
	uint32_t first_part, nr_parts;
};

struct pieces {
	struct piece *pieces;
	size_t nr, room;
	FILE *rest; /* what comes after them */
};

int pieces_init(struct pieces *pieces, const char *path) _must_check_;
void pieces_release(struct pieces *pieces);

/* So many parts have begun before it. Returns its number or a negative errno. */
int pieces_begin(struct pieces *pieces, uint32_t nr_parts) _must_check_;
void pieces_end(struct pieces *pieces, uint32_t nr_parts);

/* These return 0 or a negative errno. */
int pieces_put(struct pieces *pieces, int number, int fd) _must_check_;
/* Where the parts of a piece begin, in all. */
int pieces_offsets(const struct pieces *pieces, size_t number, int64_t *offsets) _must_check_;
/* To a file, once, and in order: a piece is empty then. */
int pieces_copy(const struct pieces *pieces, struct fxt_file *out, int64_t begin, int64_t end,
		const struct fxt_copying *copying) _must_check_;

/* Where what comes after them begins. */
int64_t pieces_size(const struct pieces *pieces);

#endif
