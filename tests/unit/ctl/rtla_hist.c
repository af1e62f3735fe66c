// SPDX-License-Identifier: GPL-2.0-only
#include "rtla_hist.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

/* What rtla timerlat hist has of the same: two CPUs, one of which nothing is known of a thread. */
static const char expected[] = "# RTLA timerlat histogram\n"
			       "# Time unit is microseconds (us)\n"
			       "# Duration:   1 00:01:01\n"
			       "Index   IRQ-001   Thr-001   IRQ-012   Thr-012\n"
			       "0             3         0         0         0 \n"
			       "7             0         2         1         0 \n"
			       "over:         0         1         0         0 \n"
			       "count:        3         3         1         0 \n"
			       "min:          0         7         7         - \n"
			       "avg:          0       105         7         - \n"
			       "max:          0       300         7         - \n";

static void prints_as_rtla_does(void **state)
{
	struct perf_poke_bucket low[] = { { 100, 102, 2 }, { 900, 902, 1 } };
	struct perf_poke_bucket seven[] = { { 7000, 7064, 1 } };
	struct perf_poke_bucket more[] = { { 7900, 7964, 2 }, { 300000, 304000, 1 } };
	struct result_row irq[] = {
		{ .cpu = 1,
		  .stats = { .count = 3, .min_ns = 100, .max_ns = 900, .sum_ns = 1200 },
		  .buckets = low,
		  .nr_buckets = 2 },
		{ .cpu = 12,
		  .stats = { .count = 1, .min_ns = 7000, .max_ns = 7000, .sum_ns = 7000 },
		  .buckets = seven,
		  .nr_buckets = 1 },
	};
	struct result_row thread[] = {
		{ .cpu = 1,
		  .stats = { .count = 3, .min_ns = 7900, .max_ns = 300000, .sum_ns = 315800 },
		  .buckets = more,
		  .nr_buckets = 2 },
		{ .cpu = 12 },
	};
	const struct results results = {
		.rows = irq,
		.nr_rows = 2,
		.kinds[PERF_POKE_TRIGGER_THREAD].rows = thread,
		.elapsed_ns = UINT64_C(86461) * 1000000000,
	};
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	(void)state;
	assert_non_null(file);
	rtla_hist_print(file, &results);
	fclose(file);
	assert_string_equal(text, expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prints_as_rtla_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
