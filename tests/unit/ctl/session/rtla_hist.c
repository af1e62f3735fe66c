// SPDX-License-Identifier: GPL-2.0-only
#include "session/rtla_hist.h"
#include "test.h"

#include <stdlib.h>

/* The output of rtla timerlat hist -b 5 -E 10 for the same counts of three CPUs: one has no thread
 * latencies, another one no latencies. */
static const char expected[] = "# RTLA timerlat histogram\n"
			       "# Time unit is microseconds (us)\n"
			       "# Duration:   1 00:01:01\n"
			       "Index   IRQ-001   Thr-001   IRQ-012   Thr-012\n"
			       "0             3         0         0         0 \n"
			       "5             0         2         1         0 \n"
			       "over:         0         1         0         0 \n"
			       "count:        3         3         1         0 \n"
			       "min:          0         7         7         - \n"
			       "avg:          0       105         7         - \n"
			       "max:          0       300         7         - \n"
			       "ALL:        IRQ       Thr\n"
			       "count:        4         3 \n"
			       "min:          0         7 \n"
			       "avg:          2       105 \n"
			       "max:          7       300 \n";

#define ENTRIES 10

TEST(prints_as_rtla_does)
{
	uint64_t low[ENTRIES + 1] = { 3 }, seven[ENTRIES + 1] = { 0, 1 };
	uint64_t more[ENTRIES + 1] = { [1] = 2, [ENTRIES] = 1 }, none[ENTRIES + 1] = { 0 };
	struct result_row irq[] = {
		{ .cpu = 1,
		  .stats = { .count = 3, .min_ns = 100, .max_ns = 900, .sum_ns = 1200 },
		  .linear = low },
		{ .cpu = 2, .linear = none },
		{ .cpu = 12,
		  .stats = { .count = 1, .min_ns = 7000, .max_ns = 7000, .sum_ns = 7000 },
		  .linear = seven },
	};
	struct result_row thread[] = {
		{ .cpu = 1,
		  .stats = { .count = 3, .min_ns = 7900, .max_ns = 300000, .sum_ns = 315800 },
		  .linear = more },
		{ .cpu = 2, .linear = none },
		{ .cpu = 12, .linear = none },
	};
	const struct results results = {
		.linear_entries = ENTRIES,
		.linear_width_ns = 5000,
		.kinds[0].rows = irq,
		.nr_rows = 3,
		.kinds[0].all.stats = { .count = 4, .min_ns = 100, .max_ns = 7000, .sum_ns = 8200 },
		.kinds[PERF_POKE_TRIGGER_THREAD] = { .rows = thread, .all.stats = thread[0].stats },
		.elapsed_ns = UINT64_C(86461) * 1000000000,
	};
	_cleanup_free_ char *text = WRITTEN(file, rtla_hist_print(file, &results));

	assert_string_equal(text, expected);
}
