/* SPDX-License-Identifier: GPL-2.0-only */
/* The live table of latencies by CPU, like rtla's, of this or another session. */
#ifndef CTL_SESSION_TOP_H
#define CTL_SESSION_TOP_H

#include "session/results.h"

struct top_state {
	uint64_t elapsed_ns;
	size_t captures;
	uint64_t skid_ns; /* of the newest capture; 0: none */
};

struct top_table {
	const int *cpus;
	size_t nr;
	/* Gets the values of the i-th CPU. Returns 0, -ENXIO if the kind is not watched, or another
	 * negative errno. */
	int (*cell)(const void *ctx, enum perf_poke_trigger_kind kind, size_t i,
		    struct perf_poke_stats *stats, uint64_t *p99_ns);
	const void *ctx;
};

/* Returns 0 or a negative errno. */
int top_print_table(FILE *file, const struct top_table *table);
int top_print(FILE *file, const struct perf_poke *pp, const struct top_state *state);

#endif
