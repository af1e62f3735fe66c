/* SPDX-License-Identifier: GPL-2.0-only */
/* The copy of the kernel's code and symbols next to a perf.data. */
#ifndef DECODE_KCORE_H
#define DECODE_KCORE_H

#include <stdbool.h>
#include <stdint.h>

#include "symbols/symbols.h"

struct kcore_segment {
	uint64_t start, end, offset;
};

/* Zero with fd -1: none. */
struct kcore {
	char *path;
	int fd;
	struct kcore_segment *segments; /* by address */
	size_t nr;
	struct symbols symbols;
	const char *why; /* why code is missing; NULL: it is not */
};

/* data: a perf.data folder; a plain file has no kcore. text_start: address of the symbol
 * `text_name` in the file; 0: unknown. Returns 0 even without code or symbols, or -ENOMEM. */
int kcore_open(struct kcore *kcore, const char *data, const char *text_name,
	       uint64_t text_start) _must_check_;
void kcore_close(struct kcore *kcore);

/* NULL: none. */
const struct kcore_segment *kcore_find(const struct kcore *kcore, uint64_t address);

#endif
