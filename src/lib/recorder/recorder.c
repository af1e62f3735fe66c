// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "recorder/recorder.h"

#include "recorder/ftrace/ftrace.h"
#include "recorder/pt/pt.h"

/* The recorder `perf`: the user's perf record holds and writes the trace. It is poked like any
 * target, so this does nothing at a spike. The capture describes the spike. */
static bool perf_suits_options(const struct recorder_config *config)
{
	return config->opts->nr_targets && !config->opts->nr_events;
}

static int perf_check_options(const struct recorder_config *config, const struct log *log)
{
	if (!config->opts->nr_targets)
		return log_error(
			log, -EINVAL,
			"--recorder perf: needs a target (--perf-pid PID, or -- perf record ...)");
	if (config->opts->nr_events)
		return log_error(
			log, -EINVAL,
			"event '%s': the recorder perf takes no events; the poked perf has its own",
			config->opts->events[0].name);
	return 0;
}

const struct recorder_ops perf_recorder = {
	.choice = { "perf", PERF_POKE_RECORDER_PERF, "your perf record, poked at each spike" },
	.suits = perf_suits_options,
	.check = perf_check_options,
};

/* The recorder `none`: a capture has only the spike and its stack, from the trigger. */
static int none_check_options(const struct recorder_config *config, const struct log *log)
{
	if (!config->opts->nr_events)
		return 0;
	return log_error(log, -EINVAL, "event '%s': the recorder none records no events",
			 config->opts->events[0].name);
}

const struct recorder_ops none_recorder = {
	.choice = { "none", PERF_POKE_RECORDER_NONE, "only the spike and its stack" },
	.check = none_check_options,
};

static const struct recorder_ops *const rows[] = {
	&perf_recorder, &pt_recorder, &events_recorder, &ftrace_recorder, &none_recorder,
};

const struct recorder_ops *recorder_ops_row(size_t i)
{
	return i < ARRAY_SIZE(rows) ? rows[i] : NULL;
}

const struct recorder_freeze *recorder_freeze_row(size_t i)
{
	if (i < PT_FREEZES)
		return &pt_freezes[i];
	return i - PT_FREEZES < FTRACE_FREEZES ? &ftrace_freezes[i - PT_FREEZES] : NULL;
}

/* Refuses the first option given that only other recorders have. */
static int recorder_check_foreign(const struct recorder_ops *ops, const struct perf_poke_opts *opts,
				  const struct log *log)
{
	const struct {
		bool given;
		const char *name, *value;
		const struct recorder_ops *of, *or_of;
	} options[] = {
		{ opts->freeze == PERF_POKE_FREEZE_PAUSE, "--freeze ", "pause", &pt_recorder },
		{ opts->freeze == PERF_POKE_FREEZE_SAMPLE, "--freeze ", "sample", &pt_recorder },
		{ opts->freeze == PERF_POKE_FREEZE_SWAP, "--freeze ", "swap", &ftrace_recorder },
		{ opts->freeze == PERF_POKE_FREEZE_TRACEOFF, "--freeze ", "traceoff",
		  &ftrace_recorder },
		{ opts->freeze_all, "--freeze-all", "", &pt_recorder },
		{ opts->no_switch_events, "--no-switch-events", "", &pt_recorder },
		{ opts->call_graph, "--call-graph", "", &events_recorder, &ftrace_recorder },
	};

	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		const struct recorder_ops *of = options[i].of;

		if (options[i].given && ops != of && ops != options[i].or_of)
			return log_error(log, -EINVAL,
					 "%s%s: needs --recorder %s%s, not the recorder %s",
					 options[i].name, options[i].value, of->choice.name,
					 of == &pt_recorder ? " (Intel PT)" : "", ops->choice.name);
	}
	return 0;
}

int recorder_choose(const struct recorder_ops **ret, enum perf_poke_recorder wanted,
		    const struct recorder_config *config, const struct log *log)
{
	const struct recorder_ops *ops = NULL;
	int err;

	for (size_t i = 0; i < ARRAY_SIZE(rows) && !ops; i++) {
		if (wanted ? rows[i]->choice.value == (int)wanted
			   : rows[i]->suits && rows[i]->suits(config))
			ops = rows[i];
	}
	err = ops->check ? ops->check(config, log) : 0;
	if (!err)
		err = recorder_check_foreign(ops, config->opts, log);
	if (!err)
		*ret = ops;
	return err;
}

int recorder_open(struct recorder **ret, const struct recorder_ops *ops,
		  const struct recorder_config *config, const struct log *log)
{
	if (ops->open)
		return ops->open(ret, config, log);
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->ops = ops;
	return 0;
}

void recorder_free(struct recorder *recorder)
{
	if (recorder && recorder->ops->free)
		recorder->ops->free(recorder);
	else
		free(recorder);
}

int recorder_start(struct recorder *recorder, const struct log *log)
{
	return recorder->ops->start ? recorder->ops->start(recorder, log) : 0;
}

int recorder_freeze(struct recorder *recorder, const struct perf_poke_spike *spike)
{
	return recorder->ops->freeze ? recorder->ops->freeze(recorder, spike) : 0;
}

int recorder_copy(struct recorder *recorder, struct snapshot **ret)
{
	*ret = NULL;
	return recorder->ops->copy ? recorder->ops->copy(recorder, ret) : 0;
}

int recorder_resume(struct recorder *recorder)
{
	return recorder->ops->resume ? recorder->ops->resume(recorder) : 0;
}

int recorder_copy_rest(struct recorder *recorder, struct snapshot *snapshot)
{
	return recorder->ops->copy_rest ? recorder->ops->copy_rest(recorder, snapshot) : 0;
}

int recorder_cpu_online(struct recorder *recorder, int cpu)
{
	return recorder->ops->cpu_online ? recorder->ops->cpu_online(recorder, cpu) : 0;
}

int recorder_write(struct recorder *recorder, struct snapshot *snapshot, int dirfd,
		   const struct perf_poke_spike *spike, struct snapshot_facts *facts)
{
	if (!recorder->ops->write)
		return 0;
	return recorder->ops->write(recorder, snapshot, dirfd, spike, facts);
}

void recorder_describe(const struct recorder *recorder, const struct snapshot *snapshot,
		       struct json_object *json)
{
	const struct recorder_ops *ops = recorder->ops;

	if (ops->describe)
		ops->describe(recorder, json);
	if (snapshot && ops->describe_snapshot)
		ops->describe_snapshot(snapshot, json);
}

void recorder_snapshot_free(const struct recorder *recorder, struct snapshot *snapshot)
{
	if (recorder->ops->snapshot_free)
		recorder->ops->snapshot_free(snapshot);
}
