// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The recorder `perf`: somebody's own perf record, which holds and writes the trace. It is poked
 * like any target, so here is nothing to do; a capture says when, and of what. */
#include "recorder/recorder.h"

#include "util.h"

struct snapshot {
	char none;
};

static int perf_open(struct recorder **ret, const struct recorder_config *config,
		     const struct log *log)
{
	struct recorder *recorder = calloc(1, sizeof(*recorder));

	if (!recorder)
		return -ENOMEM;
	if (config->nr_events) {
		free(recorder);
		return log_error(
			log, -EINVAL,
			"event '%s': the recorder perf has those of the perf that is poked",
			config->events[0].name);
	}
	recorder->ops = &perf_recorder;
	*ret = recorder;
	return 0;
}

static int perf_freeze(struct recorder *recorder, const struct perf_poke_spike *spike)
{
	(void)recorder;
	(void)spike;
	return 0;
}

static int perf_cpu_online(struct recorder *recorder, int cpu)
{
	(void)recorder;
	(void)cpu;
	return 0;
}

static int perf_copy(struct recorder *recorder, struct snapshot **ret)
{
	(void)recorder;
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

static int perf_resume(struct recorder *recorder)
{
	(void)recorder;
	return 0;
}

static int perf_write(struct recorder *recorder, struct snapshot *snapshot, int dirfd,
		      const struct perf_poke_spike *spike, struct snapshot_facts *facts)
{
	(void)recorder;
	(void)snapshot;
	(void)dirfd;
	(void)spike;
	(void)facts;
	return 0;
}

static void perf_describe(const struct recorder *recorder, struct json_object *json)
{
	(void)recorder;
	(void)json;
}

static void perf_snapshot_free(struct snapshot *snapshot)
{
	free(snapshot);
}

static void perf_free(struct recorder *recorder)
{
	free(recorder);
}

const struct recorder_ops perf_recorder = {
	.name = "perf",
	.open = perf_open,
	.freeze = perf_freeze,
	.copy = perf_copy,
	.resume = perf_resume,
	.cpu_online = perf_cpu_online,
	.write = perf_write,
	.describe = perf_describe,
	.snapshot_free = perf_snapshot_free,
	.free = perf_free,
};
