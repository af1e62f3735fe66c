/* SPDX-License-Identifier: GPL-2.0-only */
/* The live view: a table of the latencies of each CPU, as rtla's, of this session or of another. */
#ifndef CTL_SESSION_TOP_H
#define CTL_SESSION_TOP_H

#include "session/results.h"

struct top_state {
	uint64_t elapsed_ns;
	size_t captures;
	uint64_t skid_ns; /* of the newest capture; 0: there is none */
};

struct top_table {
	const int *cpus;
	size_t nr;
	/* Of the CPU by its place in cpus. Returns 0, -ENXIO if that kind is not watched, or a
	 * negative errno. */
	int (*cell)(const void *ctx, enum perf_poke_trigger_kind kind, size_t i,
		    struct perf_poke_stats *stats, uint64_t *p99_ns);
	const void *ctx;
};

/* Returns 0 or a negative errno. */
int top_print_table(FILE *file, const struct top_table *table);
int top_print(FILE *file, const struct perf_poke *pp, const struct top_state *state);

#endif
