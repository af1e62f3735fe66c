/* SPDX-License-Identifier: GPL-2.0-only */
/* When a line of code was last executed, by its thread. */
#ifndef DECODE_LINES_H
#define DECODE_LINES_H

#include <stdint.h>

#include "util.h"

#define LINE_SIZE 64

struct line {
	uint64_t number; /* address / LINE_SIZE */
	uint64_t last;	 /* 0: never */
	uint32_t thread; /* from 1; 0: free */
};

struct lines {
	struct line *slots;
	uint64_t nr, room; /* a power of two */
};

/* The one of this thread, new if need be; NULL if there is no memory. Valid until the next call. */
struct line *lines_find(struct lines *lines, uint32_t thread, uint64_t number);

void lines_release(struct lines *lines);

#endif
