// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "options/config.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "machine/base.h"
#include "text.h"

/* Kind, offset and size of a member. */
#define MEMBER(kind, member)                                                                       \
	(kind), offsetof(struct perf_poke_opts, member),                                           \
		sizeof(((struct perf_poke_opts *)0)->member)
#define PARSED(parser, member) MEMBER(OPTION_PARSED, member), .parse = (parser)
#define NO_AXIS .axis = -1

static const struct option_row option_rows[] = {
	{ { "cpu", 'c', "LIST", "CPUs to watch, such as 3 or 2,4-7; all; isolated", NO_AXIS,
	    .required = true },
	  PARSED(option_parse_cpus, cpus) },
	{ { "threshold", 0, "TIME", "capture latencies of at least this (30us)", NO_AXIS },
	  MEMBER(OPTION_TIME, threshold_ns),
	  .min = 1,
	  .max = NSEC_PER_HOUR },
	{ { "trigger", 0, "WHAT[=TIME][,overrun]",
	    "latency to watch, with its own threshold (irq). overrun:\n"
	    "spike even if the thread does not run (thread, wakeup)",
	    PERF_POKE_AXIS_TRIGGER, .repeatable = true },
	  PARSED(option_parse_trigger, trigger_sz) },
	{ { "span", 0, "NAME=ENTRY..EXIT[,by=HOW][,overrun]",
	    "span for --trigger NAME=TIME. ENTRY and EXIT: tp:SYS:NAME,\n"
	    "fn:FUNCTION, uprobe:FILE:SYMBOL[+OFFSET] or\n"
	    "usdt:FILE:PROVIDER:NAME; EXIT also uretprobe:FILE:SYMBOL;\n"
	    "fn or uprobe without EXIT: until the function returns.\n"
	    "HOW pairs them: thread (default), cpu, a FIELD of the\n"
	    "tracepoints, arg1 to arg5. overrun: spike when TIME is\n"
	    "over, not at EXIT",
	    NO_AXIS },
	  PARSED(option_parse_span, trigger_sz) },
	{ { "task", 0, "TASK", "of --trigger wakeup, interruption: a process or thread id, or name",
	    NO_AXIS },
	  MEMBER(OPTION_STRING, task) },
	{ { "function", 0, "SYM", "watch only timers with this callback; any: all timers",
	    NO_AXIS },
	  MEMBER(OPTION_STRING, function) },
	{ { "workload", 0, "NAME", "what arms timers (auto)", PERF_POKE_AXIS_WORKLOAD },
	  MEMBER(OPTION_ENUM, workload) },
	{ { "period", 0, "TIME", "period of the workload (1ms)", NO_AXIS },
	  MEMBER(OPTION_TIME, period_ns),
	  .min = 10 * NSEC_PER_USEC,
	  .max = NSEC_PER_SEC },
	{ { "prio", 0, "HOW",
	    "scheduling of the workload's threads: f:PRIORITY,\n"
	    "r:PRIORITY, o:NICE, d:RUNTIME:PERIOD (f:95)",
	    NO_AXIS },
	  MEMBER(OPTION_STRING, scheduler) },
	{ { "cgroup", 0, "NAME", "timerlat's cgroup below /sys/fs/cgroup; . for perf-poke's",
	    NO_AXIS },
	  MEMBER(OPTION_STRING, cgroup) },
	{ { "dma-latency", 0, "US", "write US, at most 10000, to /dev/cpu_dma_latency (none)",
	    NO_AXIS },
	  PARSED(option_parse_dma_latency, dma_latency_us) },
	{ { "deepest-idle-state", 0, "N", "limit the idle states of the watched CPUs (no limit)",
	    NO_AXIS },
	  PARSED(option_parse_idle_state, deepest_idle_state) },
	{ { "recorder", 0, "NAME", "what records the trace (auto)", PERF_POKE_AXIS_RECORDER },
	  MEMBER(OPTION_ENUM, recorder) },
	{ { "event", 'e', "EVENT,...",
	    "tracepoints (also of probes) to record, such as\n"
	    "sched:sched_switch or irq:* (a set for timers); events to\n"
	    "sample, as in perf record: cpu-clock, cycles:pp, r1a8,\n"
	    "PMU/TERM,.../MODIFIERS with the terms freq and period\n"
	    "(cycles/freq=10000/ if the PMU interrupts by NMI);\n"
	    "intel_pt/TERM,.../MODIFIERS; function_graph/TERM,.../",
	    NO_AXIS, .repeatable = true },
	  PARSED(option_parse_events, event_sz) },
	{ { "filter", 0, "EXPR", "filter of the preceding --event, as in perf record", NO_AXIS,
	    .repeatable = true },
	  PARSED(option_parse_filter, event_sz) },
	{ { "call-graph", 'g', NULL, "also record callchains of tracepoints, by frame pointers",
	    NO_AXIS },
	  MEMBER(OPTION_FLAG, call_graph) },
	{ { "no-samples", 0, NULL, "without an --event to sample, do not sample cycles", NO_AXIS },
	  MEMBER(OPTION_FLAG, no_samples) },
	{ { "no-stack", 0, NULL, "do not take the stacks at a spike", NO_AXIS },
	  MEMBER(OPTION_FLAG, no_stack) },
	{ { "buffer", 0, "SIZE", "ring size of each CPU (events and ftrace 4M, pt 16M)", NO_AXIS },
	  MEMBER(OPTION_SIZE, buffer_size),
	  .min = 4096,
	  .max = UINT64_C(2) << 30 },
	{ { "count", 0, "N", "stop after N complete captures (1)", NO_AXIS },
	  MEMBER(OPTION_COUNT, max_captures),
	  .min = 1,
	  .max = 1000000000 },
	{ { "keep-worst", 0, "K",
	    "keep the K worst captures of each trigger; without\n"
	    "--count, do not stop (all)",
	    NO_AXIS },
	  MEMBER(OPTION_COUNT, keep_worst),
	  .min = 1,
	  .max = 1000000 },
	{ { "max-disk", 0, "SIZE", "keep the worst captures within this size (no limit)", NO_AXIS },
	  MEMBER(OPTION_SIZE, max_disk),
	  .min = 4096,
	  .max = UINT64_C(1) << 50 },
	{ { "cooldown", 0, "TIME", "minimum time between captures (0)", NO_AXIS },
	  MEMBER(OPTION_DURATION, cooldown_ns),
	  .max = 24 * NSEC_PER_HOUR },
	{ { "output", 'o', "DIR", "folder for captures, created if missing (perf-poke.data)",
	    NO_AXIS },
	  MEMBER(OPTION_STRING, output) },
	{ { "freeze", 0, "HOW", "pt, ftrace: how the trace is stopped at the spike (auto)",
	    PERF_POKE_AXIS_FREEZE },
	  MEMBER(OPTION_ENUM, freeze) },
	{ { "freeze-all", 0, NULL, "Intel PT: capture the traces of all watched CPUs", NO_AXIS },
	  MEMBER(OPTION_FLAG, freeze_all) },
	{ { "no-switch-events", 0, NULL, "Intel PT: do not record context switches", NO_AXIS },
	  MEMBER(OPTION_FLAG, no_switch_events) },
	{ { "perf-pid", 0, "PID", "poke this running perf record at each spike", NO_AXIS,
	    .repeatable = true },
	  PARSED(option_parse_target, target_sz) },
	{ { "stop-tracing", 0, "INSTANCE", "stop this tracing instance, or top, at each spike",
	    NO_AXIS, .repeatable = true },
	  PARSED(option_parse_stop_tracing, nr_stop_tracing) },
	{ { "signal", 0, "NAME|N", "signal of a poke (SIGUSR2)", NO_AXIS },
	  PARSED(option_parse_signal, signal) },
	{ { "any-process", 0, NULL, "allow targets other than perf", NO_AXIS },
	  MEMBER(OPTION_FLAG, any_process) },
	{ { "delivery", 0, "HOW", "how a poke is delivered (auto)", PERF_POKE_AXIS_DELIVERY },
	  MEMBER(OPTION_ENUM, delivery) },
	{ { "session", 0, "NAME", "name for status, stop and poke (the process id)", NO_AXIS },
	  MEMBER(OPTION_STRING, session) },
};

const struct option_row *option_table_row(size_t i)
{
	return i < ARRAY_SIZE(option_rows) ? &option_rows[i] : NULL;
}

const struct perf_poke_option *perf_poke__option(size_t i)
{
	const struct option_row *row = option_table_row(i);

	return row ? &row->option : NULL;
}

/* Sets an option by name. */

#define OPTS_SIZE_MIN (offsetof(struct perf_poke_opts, owned) + sizeof(void *))

static int set_flag_option(bool *flag, const char *value, char **why)
{
	*flag = !value || !strcmp(value, "yes");
	return *flag || !strcmp(value, "no") ? 0
					     : say_why(why, -EINVAL, "takes yes, no, or no value");
}

static int set_choice_option(const struct option_row *row, const char *value, int *to, char **why)
{
	enum perf_poke_axis axis = (enum perf_poke_axis)row->option.axis;
	_cleanup_free_ char *names = NULL;
	const struct perf_poke_choice *choice;

	for (size_t i = 0; (choice = perf_poke__choice(axis, i)); i++) {
		text_list_append(&names, choice->name);
		if (strcmp(value, choice->name))
			continue;
		*to = choice->value;
		return 0;
	}
	return say_why(why, -EINVAL, "not a %s (use %s)", row->option.name, names);
}

static int set_string_option(struct perf_poke_opts *opts, const char **to, const char *value)
{
	char *copy = opts_own_text(opts, value, strlen(value));

	if (copy)
		*to = copy;
	return copy ? 0 : -ENOMEM;
}

static const struct option_row *find_option_row(const char *name)
{
	const struct option_row *row;

	for (size_t i = 0; (row = option_table_row(i)); i++) {
		if (!strcmp(row->option.name, name))
			return row;
	}
	return NULL;
}

static int set_option(struct perf_poke_opts *opts, const struct option_row *row, const char *value,
		      char **why)
{
	void *to = (char *)opts + row->offset;
	int err;

	if (row->kind == OPTION_FLAG)
		return set_flag_option(to, value, why);
	if (!value || !*value)
		return say_why(why, -EINVAL, "empty; a value is needed");
	switch (row->kind) {
	case OPTION_ENUM:
		return set_choice_option(row, value, to, why);
	case OPTION_PARSED:
		return row->parse(opts, value, why);
	case OPTION_CPUS:
		err = option_cpus(value, why);
		return err ? err : set_string_option(opts, to, value);
	case OPTION_STRING:
		return set_string_option(opts, to, value);
	default:
		return option_number(row->kind, value, row->min, row->max, to, why);
	}
}

int perf_poke__opts_set(struct perf_poke_opts *opts, const char *name, const char *value)
{
	const struct option_row *row = find_option_row(name);
	_cleanup_free_ char *why = NULL;
	const struct log log = {};
	int err;

	last_error_clear();
	if (!row)
		return last_error_return(log_error(&log, -ENOENT, "no such option"));
	if (opts->sz < OPTS_SIZE_MIN || opts->sz < row->offset + row->size)
		return last_error_return(
			log_error(&log, -EINVAL, "sz %zu of the options is too small", opts->sz));
	if (!opts->owned)
		opts->owned = calloc(1, sizeof(struct owned_opts));
	err = opts->owned ? set_option(opts, row, value, &why) : -ENOMEM;
	if (err && why)
		log_error(&log, err, "%s", why);
	return last_error_return(err);
}
