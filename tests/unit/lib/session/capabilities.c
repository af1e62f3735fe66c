// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The rows of an option have the values from 0 on, each once, and different names. */

#include "perf_poke.h"
#include "test.h"

TEST(has_each_value_once)
{
	for (int axis = PERF_POKE_AXIS_RECORDER; axis <= PERF_POKE_AXIS_LOG; axis++) {
		const struct perf_poke_choice *row;
		uint64_t seen = 0;
		size_t nr;

		for (nr = 0; (row = perf_poke__choice(axis, nr)); nr++) {
			seen |= 1ULL << row->value;
			assert_true(row->name[0] && row->help[0]);
			for (size_t j = 0; j < nr; j++)
				assert_string_not_equal(perf_poke__choice(axis, j)->name,
							row->name);
		}
		assert_in_range(nr, 3, 63);
		assert_int_equal(seen, (1ULL << nr) - 1);
	}
}

TEST(begins_with_the_default)
{
	assert_string_equal(perf_poke__choice(PERF_POKE_AXIS_WORKLOAD, 0)->name, "auto");
	assert_string_equal(perf_poke__choice(PERF_POKE_AXIS_TRIGGER, 0)->name, "irq");
	assert_null(perf_poke__choice(PERF_POKE_AXIS_LOG + 1, 0));
	assert_null(perf_poke__choice(-1, 0));
	assert_null(perf_poke__choice(PERF_POKE_AXIS_DELIVERY, 99));
}

TEST(values_have_names)
{
	assert_string_equal(perf_poke__name(PERF_POKE_AXIS_RECORDER, PERF_POKE_RECORDER_PT), "pt");
	assert_string_equal(perf_poke__name(PERF_POKE_AXIS_TRIGGER, PERF_POKE_TRIGGER_IRQ), "irq");
	assert_string_equal(perf_poke__name(PERF_POKE_AXIS_FREEZE, 0), "auto");
	assert_string_equal(perf_poke__name(PERF_POKE_AXIS_LOG, PERF_POKE_LOG_DEBUG), "debug");
	assert_null(perf_poke__name(PERF_POKE_AXIS_LOG, PERF_POKE_LOG_DEBUG + 1));
	assert_null(perf_poke__name(PERF_POKE_AXIS_WORKLOAD, -1));
	assert_null(perf_poke__name(PERF_POKE_AXIS_LOG + 1, 0));
}
