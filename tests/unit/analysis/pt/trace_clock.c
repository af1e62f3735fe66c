// SPDX-License-Identifier: GPL-2.0-only
#include "pt/trace_clock.h"
#include "test.h"

/* A kernel's values on a CPU of 2.4 GHz. */
static const struct trace_clock clock = { .zero = 1000, .mult = 447392427, .shift = 30 };

TEST(converts)
{
	assert_int_equal(trace_clock_ns(&clock, 0), 1000);
	assert_int_equal(trace_clock_ns(&clock, 2400000), 1001000);
	assert_int_equal(trace_clock_tsc(&clock, 1001000), 2399999);
	/* Months of uptime: the product exceeds 64 bits. */
	assert_int_equal(trace_clock_ns(&clock, UINT64_C(1) << 54),
			 1000 + UINT64_C(7505999384543232));
	assert_in_range(trace_clock_tsc(&clock, trace_clock_ns(&clock, UINT64_C(1) << 54)),
			(UINT64_C(1) << 54) - 3, UINT64_C(1) << 54);
}

TEST(knows_no_relation)
{
	static const struct trace_clock none = { .zero = 1, .shift = 20 };

	assert_int_equal(trace_clock_ns(&none, 5), 0);
	assert_int_equal(trace_clock_tsc(&none, 5), 0);
}

/* For a TSC of 32 bits. */
TEST(converts_short_ones)
{
	struct trace_clock narrow = clock;

	narrow.is_short = true;
	narrow.cycles = UINT64_C(0x5fffffff0);
	narrow.mask = UINT32_MAX;
	assert_int_equal(trace_clock_ns(&narrow, 0xfffffff4),
			 trace_clock_ns(&clock, UINT64_C(0x5fffffff4)));
	assert_int_equal(trace_clock_ns(&narrow, 4), trace_clock_ns(&clock, UINT64_C(0x600000004)));
}

TEST(extends)
{
	assert_int_equal(trace_clock_extend(5, 7), 5);
	assert_int_equal(trace_clock_extend(9, (UINT64_C(3) << 56) + 7), (UINT64_C(3) << 56) + 9);
	assert_int_equal(trace_clock_extend(5, (UINT64_C(3) << 56) - 2), (UINT64_C(3) << 56) + 5);
	assert_int_equal(trace_clock_extend((UINT64_C(1) << 56) - 2, (UINT64_C(3) << 56) + 5),
			 (UINT64_C(3) << 56) - 2);
}
