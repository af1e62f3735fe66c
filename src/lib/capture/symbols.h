/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Functions that earlier spikes of the session had: looking one up reads all symbols of the kernel,
 * which takes longer than all the rest of a capture that has no trace. */
#ifndef LIB_CAPTURE_SYMBOLS_H
#define LIB_CAPTURE_SYMBOLS_H

#include "base/kallsyms.h"

struct capture_symbols {
	struct kallsyms_place known[256];
	size_t next; /* to be replaced */
};

/* As kallsyms_places(). symbols: NULL: none is remembered. */
int capture_symbols_find(struct capture_symbols *symbols, struct kallsyms_place *places, size_t nr);

#endif
