/* SPDX-License-Identifier: GPL-2.0-only */
/* The live view: a table of the latencies of each CPU, as rtla's. */
#ifndef CTL_TOP_H
#define CTL_TOP_H

#include "results.h"

struct top_state {
	uint64_t elapsed_ns;
	size_t captures;
	uint64_t skid_ns; /* of the newest capture; 0: there is none */
};

/* Returns 0 or a negative errno. */
int top_print(FILE *file, const struct perf_poke *pp, const struct top_state *state);

#endif
