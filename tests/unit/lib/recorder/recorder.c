// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "recorder/recorder.h"

#include <string.h>

#include "messages.h"
#include "test.h"

static const struct perf_poke_event pt[] = { { "intel_pt/cyc/k", NULL } };
static const struct perf_poke_event switches[] = { { "sched:sched_switch", NULL } };

static const struct recorder_ops *chosen(enum perf_poke_recorder wanted,
					 const struct recorder_config *config)
{
	const struct recorder_ops *ops = NULL;

	assert_int_equal(recorder_choose(&ops, wanted, config, &(struct log){}), 0);
	return ops;
}

static void refuses(enum perf_poke_recorder wanted, struct recorder_config config,
		    const char *message)
{
	struct messages messages = {};
	const struct log log = { messages_add, &messages };
	const struct recorder_ops *ops = NULL;

	assert_int_equal(recorder_choose(&ops, wanted, &config, &log), -EINVAL);
	assert_null(ops);
	assert_string_equal(messages.text, message);
	assert_int_equal(messages.nr, 1);
}

TEST(follows_what_is_asked)
{
	assert_ptr_equal(
		chosen(PERF_POKE_RECORDER_AUTO, &(struct recorder_config){ .nr_targets = 1 }),
		&perf_recorder);
	/* Events that are named are not for a perf that runs already. */
	assert_ptr_equal(chosen(PERF_POKE_RECORDER_AUTO,
				&(struct recorder_config){
					.nr_targets = 1, .events = switches, .nr_events = 1 }),
			 &events_recorder);
	assert_ptr_equal(chosen(PERF_POKE_RECORDER_AUTO,
				&(struct recorder_config){ .events = pt, .nr_events = 1 }),
			 &pt_recorder);
	assert_ptr_equal(
		chosen(PERF_POKE_RECORDER_EVENTS, &(struct recorder_config){ .nr_targets = 1 }),
		&events_recorder);
	assert_ptr_equal(chosen(PERF_POKE_RECORDER_EVENTS,
				&(struct recorder_config){ .freeze = PERF_POKE_FREEZE_SIGNAL }),
			 &events_recorder);
	assert_ptr_equal(
		chosen(PERF_POKE_RECORDER_PT,
		       &(struct recorder_config){ .freeze_all = true, .sample_size = 60 << 10 }),
		&pt_recorder);
}

TEST(refuses_what_has_no_effect)
{
	const enum perf_poke_recorder events = PERF_POKE_RECORDER_EVENTS;

	refuses(events, (struct recorder_config){ .freeze = PERF_POKE_FREEZE_PAUSE },
		"freeze pause: needs the recorder pt (Intel PT), not the recorder events");
	refuses(events, (struct recorder_config){ .freeze = PERF_POKE_FREEZE_SAMPLE },
		"freeze sample: needs the recorder pt (Intel PT), not the recorder events");
	refuses(events, (struct recorder_config){ .freeze_all = true },
		"freeze-all: needs the recorder pt (Intel PT), not the recorder events");
	refuses(events, (struct recorder_config){ .sample_size = 4096 },
		"sample-size: needs the recorder pt (Intel PT), not the recorder events");
	refuses(events, (struct recorder_config){ .history_size = 4096 },
		"history: needs the recorder pt (Intel PT), not the recorder events");
	refuses(PERF_POKE_RECORDER_PERF,
		(struct recorder_config){ .nr_targets = 1, .no_switch_events = true },
		"no-switch-events: needs the recorder pt (Intel PT), not the recorder perf");
	refuses(PERF_POKE_RECORDER_PERF, (struct recorder_config){},
		"recorder perf: needs a target (a running perf record)");
	refuses(PERF_POKE_RECORDER_PT, (struct recorder_config){ .sample_size = (60 << 10) + 1 },
		"sample size 61441: must be at most 60K");
	refuses(PERF_POKE_RECORDER_NONE,
		(struct recorder_config){ .events = &(struct perf_poke_event){ "sched:*" },
					  .nr_events = 1 },
		"event 'sched:*': the recorder none records no events");
	refuses(PERF_POKE_RECORDER_NONE + 1, (struct recorder_config){}, "recorder 5: unknown");
	refuses(-1, (struct recorder_config){}, "recorder -1: unknown");
}

/* As the recorder none. */
TEST(does_without_functions)
{
	const struct recorder_config config = { .nr_targets = 1 };
	const struct recorder_ops *ops = chosen(PERF_POKE_RECORDER_NONE, &config);
	struct snapshot *snapshot = (struct snapshot *)&config;
	struct snapshot_facts facts = {};
	struct recorder *recorder;

	assert_int_equal(ops->open(&recorder, &config, &(struct log){}), 0);
	assert_int_equal(recorder_start(recorder, &(struct log){}), 0);
	assert_int_equal(recorder_freeze(recorder, NULL), 0);
	assert_int_equal(recorder_copy(recorder, &snapshot), 0);
	assert_null(snapshot);
	assert_int_equal(recorder_resume(recorder), 0);
	assert_int_equal(recorder_cpu_online(recorder, 0), 0);
	assert_int_equal(recorder_write(recorder, NULL, -1, NULL, &facts), 0);
	recorder_describe(recorder, NULL, NULL);
	recorder_snapshot_free(recorder, NULL);
	ops->free(recorder);
}
