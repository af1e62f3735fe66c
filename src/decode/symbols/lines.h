/* SPDX-License-Identifier: GPL-2.0-only */
/* The last execution of each line of code, by thread. */
#ifndef DECODE_LINES_H
#define DECODE_LINES_H

#include <stdint.h>

#include "util.h"

#define LINE_SIZE 64
#define LINES_IN_PAGE 64

/* The last execution of each line of a page; 0: never. */
struct line_page {
	uint64_t number; /* address / (LINE_SIZE * LINES_IN_PAGE) */
	uint32_t thread;
	uint64_t last[LINES_IN_PAGE];
};

struct lines {
	struct line_page **slots;
	uint64_t nr, room; /* a power of two */
};

/* The thread's page, created on demand. Stays valid. NULL if out of memory. */
struct line_page *lines_find(struct lines *lines, uint32_t thread, uint64_t number);

void lines_release(struct lines *lines);

#endif
