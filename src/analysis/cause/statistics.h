/* SPDX-License-Identifier: GPL-2.0-only */
/* Latency statistics of a session up to a spike. */
#ifndef REPORT_STATISTICS_H
#define REPORT_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

#define STATISTICS_ROWS_MAX 512

struct statistics {
	int cpu;	/* negative: all watched CPUs */
	uint64_t count; /* 0: no latencies */
	uint64_t min_ns, avg_ns, p50_ns, p99_ns, p99_9_ns, max_ns;
	uint64_t spikes, unarmed;
	/* Histogram buckets in ascending order, without overlap. */
	struct {
		uint64_t low_ns, high_ns; /* high_ns: UINT64_MAX if unbounded */
		uint64_t count;
	} rows[STATISTICS_ROWS_MAX];
	size_t nr;
};

#endif
