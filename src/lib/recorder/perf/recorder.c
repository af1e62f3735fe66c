// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The recorder `perf`: another process's perf record, which holds and writes the trace. It is poked
 * like any target, so this does nothing at a spike; the capture describes the spike. */
#include "recorder/recorder.h"

static bool perf_suits(const struct recorder_config *config)
{
	return config->nr_targets && !config->nr_events;
}

static int perf_check(const struct recorder_config *config, const struct log *log)
{
	if (!config->nr_targets)
		return log_error(log, -EINVAL,
				 "recorder perf: needs a target (a running perf record)");
	if (config->nr_events)
		return log_error(
			log, -EINVAL,
			"event '%s': the recorder perf takes no events; the poked perf has its own",
			config->events[0].name);
	return 0;
}

const struct recorder_ops perf_recorder = {
	.choice = { "perf", PERF_POKE_RECORDER_PERF, "a perf record that is poked" },
	.suits = perf_suits,
	.check = perf_check,
};
