// SPDX-License-Identifier: GPL-2.0-only
#include "facts/facts.h"

#include "test.h"
#include "util.h"

/* Written at 1000 us, with a latency of 100 us. */
TEST(a_marks_latency_ends_before_it_is_written)
{
	static const struct {
		enum perf_poke_trigger_kind kind;
		uint64_t due, expected, actual;
	} rows[] = {
		{ PERF_POKE_TRIGGER_MARKER, 880000, 880000, 980000 },
		{ PERF_POKE_TRIGGER_MARKER, 900000, 900000, 1000000 },
		/* No timer; another one; or it did more before it wrote. */
		{ PERF_POKE_TRIGGER_MARKER, 0, 900000, 1000000 },
		{ PERF_POKE_TRIGGER_MARKER, 910000, 900000, 1000000 },
		{ PERF_POKE_TRIGGER_MARKER, 870000, 900000, 1000000 },
		{ PERF_POKE_TRIGGER_SPAN, 880000, 900000, 1000000 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct facts facts = {
			.spike = { .kind = rows[i].kind,
				   .expected_ns = 900000,
				   .actual_ns = 1000000,
				   .time_ns = 1000000,
				   .latency_ns = 100000 },
		};

		facts_end_mark(&facts, rows[i].due);
		assert_int_equal(facts.spike.expected_ns, rows[i].expected);
		assert_int_equal(facts.spike.actual_ns, rows[i].actual);
	}
}
