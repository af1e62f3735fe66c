/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Sums and percentiles of the trigger's table, for sessions and observers. */
#ifndef LIB_TRIGGER_STATS_H
#define LIB_TRIGGER_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/trigger.h"
#include "perf_poke.h"

struct stats_table {
	const volatile struct trigger_cpu *table; /* indexed by CPU */
	const int *cpus;			  /* the rows to add up */
	size_t nr;
};

/* Adds entries and exits of spans that were not measured, from all possible CPUs. */
void stats_add_unpaired(struct perf_poke_stats *stats, const volatile struct trigger_cpu *cpus,
			size_t nr);
/* Omits `missed` and the unmeasured ends of spans, which other than watched CPUs count too. */
struct perf_poke_stats stats_sum(const struct stats_table *table);
/* Latencies in one bucket. */
uint64_t stats_count(const struct stats_table *table, unsigned int bucket);
/* percent: 0 to 100 */
uint64_t stats_percentile(const struct stats_table *table, double percent);

/* Eight per octave, as in the histogram of a capture. */
#define STATS_STEP 8 /* buckets of the trigger */
#define STATS_BUCKETS (TRIGGER_BUCKETS / STATS_STEP + 1)

/* The trigger's counters at a moment. */
struct stats_snapshot {
	struct perf_poke_stats sum;
	uint64_t p50_ns, p99_ns, p99_9_ns;
	uint64_t buckets[STATS_BUCKETS];
};

/* Fills in a zeroed snapshot. */
void stats_take(const struct stats_table *table, struct stats_snapshot *snapshot);

#endif
