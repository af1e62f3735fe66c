/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Sums and percentiles of the trigger's table, whoever has it mapped. */
#ifndef LIB_STATS_H
#define LIB_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/trigger.h"
#include "perf_poke.h"

struct stats_table {
	const volatile struct trigger_cpu *table; /* indexed by CPU */
	const int *cpus;			  /* those of it that count */
	size_t nr;
};

/* All but `missed`, which is not in the table. */
struct perf_poke_stats stats_sum(const struct stats_table *table);
/* percent: 0 to 100 */
uint64_t stats_percentile(const struct stats_table *table, double percent);

#endif
