// SPDX-License-Identifier: GPL-2.0-only
#include "session/targets.h"

#include <limits.h>
#include <signal.h>
#include <string.h>

#include "cli/options.h"
#include "cpulist.h"
#include "units.h"

/* Above normal tasks, as in placement.c. perf copies gigabytes at this priority and must not delay
 * threaded interrupts (50). */
#define PRIORITY 10
#define PRIORITY_UNSET UINT64_MAX

const struct target_args targets_none = { .priority = PRIORITY_UNSET };

int targets_parse_pid(struct target_args *targets, const char *value, char **why)
{
	uint64_t pid;

	if (units_parse_count(value, &pid) || !pid || pid > INT_MAX)
		return options_explain(why, -EINVAL, "not a process or thread id");
	if (targets->nr_pids == TARGETS_MAX)
		return options_explain(why, -EINVAL, "more than %d targets", TARGETS_MAX);
	for (size_t i = 0; i < targets->nr_pids; i++) {
		if (targets->pids[i] == (int)pid)
			return options_explain(why, -EINVAL, "given twice");
	}
	targets->pids[targets->nr_pids++] = (int)pid;
	return 0;
}

static int find_signal(const char *name)
{
	uint64_t number;

	if (!units_parse_count(name, &number))
		return number && number <= (uint64_t)SIGRTMAX ? (int)number : 0;
	if (!strncasecmp(name, "SIG", 3))
		name += 3;
	for (int i = 1; i < NSIG; i++) {
		const char *known = sigabbrev_np(i);

		if (known && !strcasecmp(known, name))
			return i;
	}
	return 0;
}

int targets_parse_signal(struct target_args *targets, const char *value, char **why)
{
	targets->signal = find_signal(value);
	if (!targets->signal)
		return options_explain(why, -EINVAL, "not a signal (use SIGUSR2, USR2 or 12)");
	return 0;
}

/* An option that requires a target; NULL: none given. */
static const char *needs_target(const struct target_args *targets,
				const struct perf_poke_opts *opts)
{
	if (opts->recorder == PERF_POKE_RECORDER_PERF)
		return "--recorder perf";
	if (targets->any_process)
		return "--any-process";
	if (targets->signal)
		return "--signal";
	if (opts->delivery)
		return "--delivery";
	return opts->exit_with_target ? "--exit-with-target" : NULL;
}

static const char *needs_command(const struct target_args *targets,
				 const struct perf_poke_opts *opts)
{
	if (targets->archive)
		return "--archive";
	if (targets->priority != PRIORITY_UNSET)
		return "--perf-priority";
	return opts->delivery == PERF_POKE_DELIVERY_TRACEPOINT ? "--delivery tracepoint" : NULL;
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

	r = perf_record_read(&targets->record, targets->command, targets->any_process, why);
	if (r)
		return r;
	if (!record->at && targets->archive)
		return options_explain(why, -EINVAL, "--archive: the command is not perf record");
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
	const char *option = needs_target(targets, opts);
	int r;

	if (option && !targets->command && !targets->nr_pids)
		return options_explain(why, -EINVAL,
				       "%s needs a target (use --perf-pid PID or -- perf record "
				       "...)",
				       option);
	option = needs_command(targets, opts);
	if (option && !targets->command)
		return options_explain(why, -EINVAL, "%s needs -- perf record ...", option);
	if (targets->command && targets->nr_pids == TARGETS_MAX)
		return options_explain(why, -EINVAL, "--perf-pid: more than %d targets",
				       TARGETS_MAX);
	if (targets->signal && targets->signal != SIGUSR2 && !targets->any_process)
		return options_explain(why, -EINVAL,
				       "--signal: perf handles SIGUSR2 only (--any-process for "
				       "other programs)");
	r = check_housekeeping(targets->housekeeping, opts->cpus, why);
	if (!r && targets->command)
		r = check_command(targets, opts, why);
	if (targets->priority == PRIORITY_UNSET)
		targets->priority = PRIORITY;
	return r;
}
