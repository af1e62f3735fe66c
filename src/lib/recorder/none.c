// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The recorder `none`: a capture has only what the trigger saw: the spike and its stack. */
#include "recorder/recorder.h"

static int none_check(const struct recorder_config *config, const struct log *log)
{
	if (!config->nr_events)
		return 0;
	return log_error(log, -EINVAL, "event '%s': the recorder none records no events",
			 config->events[0].name);
}

const struct recorder_ops none_recorder = {
	.choice = { "none", PERF_POKE_RECORDER_NONE, "only the spike and its stack" },
	.check = none_check,
};
