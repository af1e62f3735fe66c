// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Each value of each enum has one row, and no two rows of an option have one name. */
#include <string.h>

#include "bpf/trigger.h"
#include "perf_poke.h"
#include "test.h"

TEST(has_each_value_once)
{
	static const struct {
		enum perf_poke_axis axis;
		int last;
	} axes[] = {
		{ PERF_POKE_AXIS_RECORDER, PERF_POKE_RECORDER_NONE },
		{ PERF_POKE_AXIS_TRIGGER, TRIGGER_KINDS - 1 },
		{ PERF_POKE_AXIS_WORKLOAD, PERF_POKE_WORKLOAD_OSNOISE },
		{ PERF_POKE_AXIS_DELIVERY, PERF_POKE_DELIVERY_RELAY },
		{ PERF_POKE_AXIS_FREEZE, PERF_POKE_FREEZE_SIGNAL },
	};

	for (size_t a = 0; a < sizeof(axes) / sizeof(axes[0]); a++) {
		const struct perf_poke_choice *row;
		unsigned int seen = 0;

		for (size_t i = 0; (row = perf_poke__choice(axes[a].axis, i)); i++) {
			assert_in_range(row->value, 0, axes[a].last);
			assert_false(seen & 1U << row->value);
			seen |= 1U << row->value;
			assert_true(row->name[0] && row->help[0]);
			for (size_t j = 0; j < i; j++)
				assert_string_not_equal(perf_poke__choice(axes[a].axis, j)->name,
							row->name);
		}
		assert_int_equal(seen, (2U << axes[a].last) - 1);
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
