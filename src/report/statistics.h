/* SPDX-License-Identifier: GPL-2.0-only */
/* The latencies of a session until a spike. */
#ifndef REPORT_STATISTICS_H
#define REPORT_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

#define STATISTICS_ROWS_MAX 512

struct statistics {
	int cpu;	/* negative: of all that were watched */
	uint64_t count; /* 0: there is nothing */
	uint64_t min_ns, avg_ns, p50_ns, p99_ns, p99_9_ns, max_ns;
	uint64_t spikes, unarmed;
	/* The histogram, in rising order, none of which overlap. */
	struct {
		uint64_t low_ns, high_ns; /* high_ns: UINT64_MAX if it has no end */
		uint64_t count;
	} rows[STATISTICS_ROWS_MAX];
	size_t nr;
};

#endif
