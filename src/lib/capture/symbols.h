/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Caches functions of earlier spikes: a lookup reads all kernel symbols, which takes longer than
 * the rest of a capture without a trace. */
#ifndef LIB_CAPTURE_SYMBOLS_H
#define LIB_CAPTURE_SYMBOLS_H

#include "machine/base.h"

struct capture_symbols {
	struct kallsyms_place known[256];
	size_t next; /* to be replaced */
};

/* As kallsyms_places(). symbols NULL: no cache. */
int capture_symbols_find(struct capture_symbols *symbols, struct kallsyms_place *places, size_t nr);

#endif
