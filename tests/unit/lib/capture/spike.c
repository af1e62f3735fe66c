// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Who made a noise. */
#include "capture/spike.h"

#include "test.h"

#define START 1000

static struct perf_poke_spike explain(const struct trigger_noise_parts *parts)
{
	struct perf_poke_spike spike = { .kind = PERF_POKE_TRIGGER_NOISE };

	spike_explain_noise(&spike, parts);
	assert_true(spike.has_noise);
	return spike;
}

TEST(sums_what_belongs_to_the_sample)
{
	const struct trigger_noise_parts parts = {
		.start = START,
		.parts = {
			/* From the previous sample. */
			{ START - 1, 9000, TRIGGER_NOISE_IRQ, 1, "older" },
			{ START, 300, TRIGGER_NOISE_IRQ, 236, "local_timer" },
			{ START + 50, 20, TRIGGER_NOISE_NMI, 0, "" },
			{ START + 400, 700, TRIGGER_NOISE_THREAD, 77, "kworker/1:1" },
			{ START + 500, 200, TRIGGER_NOISE_SOFTIRQ, 1, "" },
			{ START + 600, 40, TRIGGER_NOISE_IRQ, 4, "ttyS0" },
			/* Of an unknown class. */
			{ START + 700, 8000, TRIGGER_NOISE_CLASSES, 4, "x" },
		},
	};
	const struct perf_poke_spike spike = explain(&parts);

	assert_int_equal(spike.noise_irq_ns, 340);
	assert_int_equal(spike.noise_softirq_ns, 200);
	assert_int_equal(spike.noise_thread_ns, 700);
	assert_int_equal(spike.noise_nmi_ns, 20);
	assert_int_equal(spike.noise_most_ns, 700);
	assert_string_equal(spike.label, "thread kworker/1:1:77");
}

TEST(has_the_late_thread)
{
	const struct trigger_spike seen = {
		.tid = 3,
		.kind = PERF_POKE_TRIGGER_WAKEUP,
		.late = { 7, 8, 1, 80, -1, "loop" },
	};
	const struct config config = {};
	struct perf_poke_spike spike = spike_of(&config, &seen);

	assert_int_equal(spike.late_pid, 7);
	assert_int_equal(spike.late_tid, 8);
	assert_int_equal(spike.late_policy, 1);
	assert_int_equal(spike.late_priority, 80);
	assert_int_equal(spike.late_nice, -1);
	assert_string_equal(spike.late_comm, "loop");
	spike = spike_of(&config, &(struct trigger_spike){ .late.tid = 8 });
	assert_int_equal(spike.late_policy, -1);
}

TEST(names_each_class)
{
	static const struct {
		struct trigger_noise_part part;
		const char *label;
	} rows[] = {
		{ { START, 5, TRIGGER_NOISE_IRQ, 236, "local_timer" }, "irq local_timer:236" },
		{ { START, 5, TRIGGER_NOISE_SOFTIRQ, 9, "" }, "softirq RCU:9" },
		{ { START, 5, TRIGGER_NOISE_SOFTIRQ, 10, "" }, "softirq ?:10" },
		{ { START, 5, TRIGGER_NOISE_THREAD, 1, "a-long-name-cut" },
		  "thread a-long-name-cut:1" },
		{ { START, 5, TRIGGER_NOISE_NMI, 0, "" }, "nmi" },
		{ { START - 1, 5, TRIGGER_NOISE_NMI, 0, "" }, "hardware" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct trigger_noise_parts parts = { .start = START,
							   .parts = { rows[i].part } };

		assert_string_equal(explain(&parts).label, rows[i].label);
	}
}
