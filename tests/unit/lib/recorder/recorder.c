// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "recorder/recorder.h"

#include "messages.h"
#include "test.h"

static const struct perf_poke_event pt[] = { { "intel_pt/cyc/k", NULL } };
static const struct perf_poke_event switches[] = { { "sched:sched_switch", NULL } };

#define ONLY_PT "needs --recorder pt (Intel PT), not the recorder "

static const struct {
	enum perf_poke_recorder wanted;
	struct perf_poke_opts opts;
	const struct recorder_ops *ops; /* NULL: refused, with the message */
	const char *message;
} rows[] = {
	{ PERF_POKE_RECORDER_AUTO, { .nr_targets = 1 }, &perf_recorder },
	/* Named events are refused for a running perf. */
	{ PERF_POKE_RECORDER_AUTO,
	  { .nr_targets = 1, .events = switches, .nr_events = 1 },
	  &events_recorder },
	{ PERF_POKE_RECORDER_AUTO, { .events = pt, .nr_events = 1 }, &pt_recorder },
	{ PERF_POKE_RECORDER_EVENTS, { .nr_targets = 1 }, &events_recorder },
	{ PERF_POKE_RECORDER_EVENTS, { .freeze = PERF_POKE_FREEZE_SIGNAL }, &events_recorder },
	{ PERF_POKE_RECORDER_EVENTS, { .call_graph = true }, &events_recorder },
	{ PERF_POKE_RECORDER_PT, { .freeze_all = true }, &pt_recorder },
	{ PERF_POKE_RECORDER_EVENTS,
	  { .freeze = PERF_POKE_FREEZE_PAUSE },
	  .message = "--freeze pause: " ONLY_PT "events" },
	{ PERF_POKE_RECORDER_EVENTS,
	  { .freeze = PERF_POKE_FREEZE_SAMPLE },
	  .message = "--freeze sample: " ONLY_PT "events" },
	{ PERF_POKE_RECORDER_EVENTS,
	  { .freeze_all = true },
	  .message = "--freeze-all: " ONLY_PT "events" },
	{ PERF_POKE_RECORDER_PERF,
	  { .nr_targets = 1, .no_switch_events = true },
	  .message = "--no-switch-events: " ONLY_PT "perf" },
	{ PERF_POKE_RECORDER_PERF,
	  { .nr_targets = 1, .call_graph = true },
	  .message = "--call-graph: needs --recorder events, not the recorder perf" },
	{ PERF_POKE_RECORDER_PERF,
	  .message = "--recorder perf: needs a target (--perf-pid PID, or -- perf record ...)" },
	{ PERF_POKE_RECORDER_NONE,
	  { .events = switches, .nr_events = 1 },
	  .message = "event 'sched:sched_switch': the recorder none records no events" },
};

TEST(chooses)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct messages messages = {};
		const struct log log = { messages_add, &messages };
		const struct recorder_config config = { .opts = &rows[i].opts };
		const struct recorder_ops *ops = NULL;

		assert_int_equal(recorder_choose(&ops, rows[i].wanted, &config, &log),
				 rows[i].ops ? 0 : -EINVAL);
		assert_ptr_equal(ops, rows[i].ops);
		assert_string_equal(messages.text, rows[i].message ?: "");
		assert_int_equal(messages.nr, !rows[i].ops);
	}
}

/* Like the recorder `none`. */
TEST(does_without_functions)
{
	const struct recorder_config config = {};
	struct snapshot *snapshot = (struct snapshot *)&config;
	struct snapshot_facts facts = {};
	struct recorder *recorder;

	assert_int_equal(recorder_open(&recorder, &none_recorder, &config, &(struct log){}), 0);
	assert_int_equal(recorder_start(recorder, &(struct log){}), 0);
	assert_int_equal(recorder_freeze(recorder, NULL), 0);
	assert_int_equal(recorder_copy(recorder, &snapshot), 0);
	assert_null(snapshot);
	assert_int_equal(recorder_resume(recorder), 0);
	assert_int_equal(recorder_copy_rest(recorder, snapshot), 0);
	assert_int_equal(recorder_cpu_online(recorder, 0), 0);
	assert_int_equal(recorder_write(recorder, NULL, -1, NULL, &facts), 0);
	recorder_describe(recorder, NULL, NULL);
	recorder_snapshot_free(recorder, NULL);
	recorder_free(recorder);
}
