// SPDX-License-Identifier: GPL-2.0-only
#include "session/targets.h"

#include <signal.h>

#include "cli/cli.h"
#include "cpulist.h"

/* An option that requires a target; NULL: none given. */
static const char *needs_target(const struct perf_poke_opts *opts)
{
	if (opts->recorder == PERF_POKE_RECORDER_PERF)
		return "--recorder perf";
	if (opts->any_process)
		return "--any-process";
	if (opts->signal)
		return "--signal";
	return opts->delivery ? "--delivery" : NULL;
}

static int check_housekeeping(const char *housekeeping, const char *watched, char **why)
{
	_cleanup_free_ int *cpus = NULL;
	_cleanup_free_ int *others = NULL;
	size_t nr, nr_others;
	int r;

	if (!housekeeping)
		return 0;
	r = cpulist_parse(housekeeping, &cpus, &nr);
	if (!r)
		r = cpulist_parse(watched, &others, &nr_others);
	if (r)
		return r;
	for (size_t i = 0, j = 0; i < nr && j < nr_others; cpus[i] < others[j] ? i++ : j++) {
		if (cpus[i] == others[j])
			return options_explain(why, -EINVAL,
					       "--housekeeping '%s': CPU %d is watched",
					       housekeeping, cpus[i]);
	}
	return 0;
}

static int check_command(struct target_args *targets, const struct perf_poke_opts *opts, char **why)
{
	const struct perf_record *record = &targets->record;
	int r;

	r = perf_record_read(&targets->record, targets->command, opts->any_process, why);
	if (r)
		return r;
	if (!record->at && opts->delivery == PERF_POKE_DELIVERY_TRACEPOINT)
		return options_explain(why, -EINVAL,
				       "--delivery tracepoint: the command is not perf record");
	/* The event that we add would replace perf's default event. */
	if (opts->delivery == PERF_POKE_DELIVERY_TRACEPOINT && !record->has_event)
		return options_explain(why, -EINVAL,
				       "--delivery tracepoint: perf record needs an event, such as "
				       "-e intel_pt//k");
	return 0;
}

int targets_check(struct target_args *targets, const struct perf_poke_opts *opts, char **why)
{
	const char *option = needs_target(opts);
	int r;

	if (option && !targets->command && !opts->nr_targets)
		return options_explain(why, -EINVAL,
				       "%s needs a target (use --perf-pid PID or -- perf record "
				       "...)",
				       option);
	if (opts->delivery == PERF_POKE_DELIVERY_TRACEPOINT && !targets->command)
		return options_explain(why, -EINVAL,
				       "--delivery tracepoint needs -- perf record ...");
	if (targets->command && opts->nr_targets == TARGETS_MAX)
		return options_explain(why, -EINVAL, "--perf-pid: more than %d targets",
				       TARGETS_MAX);
	if (opts->signal && opts->signal != SIGUSR2 && !opts->any_process)
		return options_explain(why, -EINVAL,
				       "--signal: perf handles SIGUSR2 only (--any-process for "
				       "other programs)");
	r = check_housekeeping(targets->housekeeping, opts->cpus, why);
	if (!r && targets->command)
		r = check_command(targets, opts, why);
	return r;
}
