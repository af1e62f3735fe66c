// SPDX-License-Identifier: GPL-2.0-only
#include "commands/start.h"

#include <string.h>

#include "causes/known.h"
#include "cli/json_line.h"
#include "cli/text.h"
#include "commands/commands.h"
#include "session/adaptive.h"
#include "session/detach.h"
#include "session/rtla_hist.h"
#include "session/session.h"
#include "units.h"

#define NS_PER_US UINT64_C(1000)
#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_H (3600 * NS_PER_S)

/* The library checks whether the event exists. */
static int check_event(const struct start_args *args, const char *name, char **why)
{
	if (!*name)
		return options_explain(why, -EINVAL,
				       "empty event name (use SYSTEM:NAME, such as "
				       "sched:sched_switch, or cpu-clock)");
	for (size_t i = 0; i < args->nr_events; i++) {
		if (!strcmp(args->events[i].name, name))
			return options_explain(why, -EINVAL, "'%s' is named twice", name);
	}
	return 0;
}

static int add_event(struct start_args *args, const char *name, size_t length, char **why)
{
	_cleanup_free_ char *copy = strndup(name, length);
	struct perf_poke_event *events;
	int r;

	if (!copy)
		return -ENOMEM;
	r = check_event(args, copy, why);
	if (r)
		return r;
	events = reallocarray(args->events, args->nr_events + 1, sizeof(*events));
	if (!events)
		return -ENOMEM;
	args->events = events;
	events[args->nr_events++] = (struct perf_poke_event){ .name = TAKE_PTR(copy) };
	return 0;
}

/* The length up to a comma that is not between slashes. */
static size_t event_length(const char *list)
{
	bool terms = false;
	size_t i;

	for (i = 0; list[i] && (terms || list[i] != ','); i++)
		terms ^= list[i] == '/';
	return i;
}

static int parse_events(void *target, const char *value, char **why)
{
	struct start_args *args = target;

	args->last_events = args->nr_events;
	for (;;) {
		size_t length = event_length(value);
		int r = add_event(args, value, length, why);

		if (r || !value[length])
			return r;
		value += length + 1;
	}
}

static int parse_filter(void *target, const char *value, char **why)
{
	struct start_args *args = target;

	if (!args->nr_events)
		return options_explain(why, -EINVAL, "needs an --event before it");
	if (args->events[args->last_events].filter)
		return options_explain(why, -EINVAL,
				       "the --event before it has a filter (join them with &&)");
	for (size_t i = args->last_events; i < args->nr_events; i++)
		args->events[i].filter = value;
	return 0;
}

static int parse_call_graph(void *target, const char *value, char **why)
{
	struct perf_poke_opts *opts = &((struct start_args *)target)->opts;

	opts->call_graph = true;
	return strcmp(value, "fp")
		       ? options_explain(why, -EINVAL,
					 "must be fp: dwarf and lbr of perf record are not for "
					 "rings that are overwritten")
		       : 0;
}

static int parse_bounded(const char *value, uint64_t max, uint32_t *number, char **why)
{
	uint64_t count;

	if (units_parse_count(value, &count) || count > max)
		return options_explain(why, -EINVAL, "must be a whole number, 0 to %llu",
				       (unsigned long long)max);
	*number = (uint32_t)count;
	return 0;
}

static int parse_dma_latency(void *target, const char *value, char **why)
{
	struct perf_poke_opts *opts = &((struct start_args *)target)->opts;

	opts->hold_dma_latency = true;
	return parse_bounded(value, 10000, &opts->dma_latency_us, why);
}

static int parse_adaptive(void *target, const char *value, char **why)
{
	struct perf_poke_opts *opts = &((struct start_args *)target)->opts;
	char *end;

	opts->adaptive_percent = strtod(value, &end);
	if (end == value || *end || !(opts->adaptive_percent > 0) || opts->adaptive_percent >= 100)
		return options_explain(why, -EINVAL,
				       "not a percentage (use 99.9, more than 0, less than 100)");
	return 0;
}

static int parse_idle_state(void *target, const char *value, char **why)
{
	struct perf_poke_opts *opts = &((struct start_args *)target)->opts;

	opts->limit_idle_state = true;
	return parse_bounded(value, 9, &opts->deepest_idle_state, why);
}

/* The name of no other kind is that of a span, which --span may define later. */
static const struct perf_poke_choice *find_kind(const char *name, size_t length)
{
	const struct perf_poke_choice *row, *span = NULL;

	for (size_t i = 0; (row = perf_poke__choice(PERF_POKE_AXIS_TRIGGER, i)); i++) {
		if (row->value == PERF_POKE_TRIGGER_SPAN)
			span = row;
		else if (strlen(row->name) == length && !strncmp(row->name, name, length))
			return row;
	}
	return span;
}

static char *join_kinds(void)
{
	const struct perf_poke_choice *row;
	char *names = NULL;

	for (size_t i = 0; (row = perf_poke__choice(PERF_POKE_AXIS_TRIGGER, i)); i++) {
		if (row->value != PERF_POKE_TRIGGER_SPAN)
			text_join(&names, row->name);
	}
	return names;
}

/* The library checks texts. */
static int parse_threshold(struct perf_poke_trigger *trigger, const char *value, char **why)
{
	if (!value || (!units_parse_time(value, &trigger->threshold_ns) && trigger->threshold_ns &&
		       trigger->threshold_ns <= NS_PER_H))
		return 0;
	return options_explain(why, -EINVAL,
			       "'%s' is not a time (use 30us, 1.5ms, 2s, at most 1h; a bare "
			       "number is microseconds)",
			       value);
}

/* KIND, KIND=TIME or KIND=TEXT */
static int parse_trigger(void *target, const char *value, char **why)
{
	struct start_args *args = target;
	size_t length = strcspn(value, "=");
	const char *argument = value[length] ? value + length + 1 : NULL;
	struct perf_poke_trigger *trigger = &args->triggers[args->nr_triggers];
	const struct perf_poke_choice *row = find_kind(value, length);

	for (size_t i = 0; i < args->nr_triggers; i++) {
		if ((int)args->triggers[i].kind == row->value)
			return options_explain(why, -EINVAL, "'%s' is named twice", row->name);
	}
	if (row->value == PERF_POKE_TRIGGER_SPAN)
		args->span_trigger = value;
	args->nr_triggers++;
	trigger->kind = (enum perf_poke_trigger_kind)row->value;
	if (!row->argument)
		return parse_threshold(trigger, argument, why);
	trigger->text = argument;
	return 0;
}

static int parse_pid(void *target, const char *value, char **why)
{
	struct start_args *args = target;

	return targets_parse_pid(&args->targets, value, why);
}

static int parse_signal(void *target, const char *value, char **why)
{
	struct start_args *args = target;

	return targets_parse_signal(&args->targets, value, why);
}

#define TARGET(member) .offset = offsetof(struct start_args, member)

static const struct option_spec options[] = {
	{ "cpu", 'c', OPTION_CPUS, .required = true, TARGET(opts.cpus), .metavar = "LIST",
	  .help = "CPUs to watch, such as 3 or 2,4-7" },
	{ "threshold", 0, OPTION_TIME, .min = 1, .max = NS_PER_H, TARGET(opts.threshold_ns),
	  .metavar = "TIME", .help = "capture latencies of at least this (30us)" },
	{ "trigger", 0, OPTION_PARSED, .repeatable = true, .parse = parse_trigger,
	  .metavar = "WHAT[=TIME]", OPTIONS_AXIS(TRIGGER),
	  .help = "latency to watch, with its own threshold (irq)" },
	{ "span", 0, OPTION_STRING, TARGET(span), .metavar = "NAME=ENTRY..EXIT[,by=HOW]",
	  .help = "what --trigger NAME=TIME watches: from ENTRY to EXIT, each\n"
		  "tp:SYS:NAME, fn:FUNCTION, uprobe:FILE:SYMBOL[+OFFSET],\n"
		  "usdt:FILE:PROVIDER:NAME, EXIT also uretprobe:FILE:SYMBOL;\n"
		  "fn or uprobe alone: the function; of the same thread, or by\n"
		  "cpu, by the FIELD of tracepoints, by arg1 to arg5" },
	{ "task", 0, OPTION_STRING, TARGET(opts.task), .metavar = "TASK",
	  .help = "task of --trigger wakeup: a process or thread id, or name" },
	{ "function", 0, OPTION_STRING, TARGET(opts.function), .metavar = "SYM",
	  .help = "watch only timers with this callback; any: all timers\n"
		  "(timerlat_irq with the workload timerlat, else any)" },
	{ "workload", 0, OPTION_ENUM, OPTIONS_AXIS(WORKLOAD), TARGET(opts.workload),
	  .metavar = "NAME", .help = "what arms timers (auto)" },
	{ "period", 0, OPTION_TIME, .min = 10 * NS_PER_US, .max = NS_PER_S, TARGET(opts.period_ns),
	  .metavar = "TIME", .help = "period of the workload (1ms)" },
	{ "prio", 0, OPTION_STRING, TARGET(opts.scheduler), .metavar = "HOW",
	  .help = "scheduling of the workload's threads: f:PRIORITY,\n"
		  "r:PRIORITY, o:NICE, d:RUNTIME:PERIOD (f:95)" },
	{ "cgroup", 0, OPTION_STRING, TARGET(opts.cgroup), .metavar = "NAME",
	  .help = "cgroup of timerlat's threads, below /sys/fs/cgroup; . for\n"
		  "this program's" },
	{ "dma-latency", 0, OPTION_PARSED, .parse = parse_dma_latency, .metavar = "US",
	  .help = "set /dev/cpu_dma_latency to 0 to 10000 (not set)" },
	{ "deepest-idle-state", 0, OPTION_PARSED, .parse = parse_idle_state, .metavar = "N",
	  .help = "limit the idle states of the watched CPUs (no limit)" },
	{ "recorder", 0, OPTION_ENUM, OPTIONS_AXIS(RECORDER), TARGET(opts.recorder),
	  .metavar = "NAME", .help = "who holds the trace (auto)" },
	{ "event", 'e', OPTION_PARSED, .repeatable = true, .parse = parse_events,
	  .metavar = "EVENT,...",
	  .help = "tracepoints (also of probes) to record, such as\n"
		  "sched:sched_switch or irq:* (a set for timers); events to\n"
		  "sample, as in perf record: cpu-clock, cycles:pp, r1a8,\n"
		  "PMU/TERM,.../MODIFIERS with the terms freq and period\n"
		  "(cycles/freq=10000/ if the PMU interrupts by NMI); or\n"
		  "intel_pt/TERM,.../MODIFIERS (intel_pt/cyc,noretcomp/k)" },
	{ "filter", 0, OPTION_PARSED, .repeatable = true, .parse = parse_filter, .metavar = "EXPR",
	  .help = "filter of the --event before it, as in perf record" },
	{ "call-graph", 0, OPTION_PARSED, .parse = parse_call_graph, .metavar = "fp",
	  .help = "record callchains of tracepoints too, by frame pointers" },
	{ NULL, 'g', OPTION_FLAG, TARGET(opts.call_graph), .help = "the same" },
	{ "no-samples", 0, OPTION_FLAG, TARGET(opts.no_samples),
	  .help = "do not sample cycles where --event has nothing like it, nor\n"
		  "record branches" },
	{ "buffer", 0, OPTION_SIZE, .min = 4096, .max = UINT64_C(2) << 30, TARGET(opts.buffer_size),
	  .metavar = "SIZE", .help = "ring size of each CPU (events 4M, pt 16M)" },
	{ "count", 0, OPTION_COUNT, .min = 1, .max = 1000000000, TARGET(opts.max_captures),
	  .metavar = "N", .help = "stop after N complete captures (1)" },
	{ "keep-worst", 0, OPTION_COUNT, .min = 1, .max = 1000000, TARGET(opts.keep_worst),
	  .metavar = "K",
	  .help = "keep the K worst captures of each trigger; without\n"
		  "--count, do not stop (all)" },
	{ "max-disk", 0, OPTION_SIZE, .min = 4096, .max = UINT64_C(1) << 50, TARGET(opts.max_disk),
	  .metavar = "SIZE", .help = "keep the worst captures within this size (no limit)" },
	{ "known", 0, OPTION_STRING, TARGET(known), .metavar = "FILE",
	  .help = "keep only captures of new causes, and count them; the file is\n"
		  "that of causes --save (keep all)" },
	{ "adaptive", 0, OPTION_PARSED, .parse = parse_adaptive, .metavar = "Q",
	  .help = "measure first and set the thresholds to this percentile,\n"
		  "such as 99.99 (off)" },
	{ "warmup", 0, OPTION_DURATION, .min = NS_PER_S / 1000, .max = 24 * NS_PER_H,
	  TARGET(opts.warmup_ns), .metavar = "TIME", .help = "how long --adaptive measures (10s)" },
	{ "cooldown", 0, OPTION_DURATION, .max = 24 * NS_PER_H, TARGET(opts.cooldown_ns),
	  .metavar = "TIME", .help = "minimum time between captures (0)" },
	{ "duration", 0, OPTION_DURATION, .min = NS_PER_S / 1000, .max = 8760 * NS_PER_H,
	  TARGET(duration_ns), .metavar = "TIME",
	  .help = "stop this long after arming (no limit)" },
	{ "output", 'o', OPTION_STRING, TARGET(opts.output), .metavar = "DIR",
	  .help = "folder for captures, created if missing (perf-poke.data)" },
	{ "freeze", 0, OPTION_ENUM, OPTIONS_AXIS(FREEZE), TARGET(opts.freeze), .metavar = "HOW",
	  .help = "Intel PT: how the trace is stopped at the spike (auto)" },
	{ "freeze-all", 0, OPTION_FLAG, TARGET(opts.freeze_all),
	  .help = "Intel PT: capture the traces of all watched CPUs" },
	{ "sample-size", 0, OPTION_SIZE, .min = 4096, .max = 60 << 10, TARGET(opts.sample_size),
	  .metavar = "SIZE", .help = "Intel PT: size of AUX samples, at most 60K (60K)" },
	{ "history", 0, OPTION_SIZE, .min = 4096, .max = UINT64_C(2) << 30,
	  TARGET(opts.history_size), .metavar = "SIZE",
	  .help = "Intel PT: write only the newest SIZE of trace (all)" },
	{ "no-switch-events", 0, OPTION_FLAG, TARGET(opts.no_switch_events),
	  .help = "Intel PT: do not record context switches" },
	{ "perf-pid", 0, OPTION_PARSED, .repeatable = true, .parse = parse_pid, .metavar = "PID",
	  .help = "poke this running perf record at each spike" },
	{ "signal", 0, OPTION_PARSED, .parse = parse_signal, .metavar = "NAME|N",
	  .help = "signal of a poke (SIGUSR2)" },
	{ "any-process", 0, OPTION_FLAG, TARGET(targets.any_process),
	  .help = "allow targets other than perf" },
	{ "delivery", 0, OPTION_ENUM, OPTIONS_AXIS(DELIVERY), TARGET(opts.delivery),
	  .metavar = "HOW", .help = "how a poke is delivered (auto)" },
	{ "exit-with-target", 0, OPTION_FLAG, TARGET(opts.exit_with_target),
	  .help = "stop when all targets have exited" },
	{ "housekeeping", 0, OPTION_CPUS, TARGET(targets.housekeeping), .metavar = "LIST",
	  .help = "CPUs for this program and the perf that it starts (all\n"
		  "but the watched ones)" },
	{ "perf-priority", 0, OPTION_COUNT, .max = 99, TARGET(targets.priority), .metavar = "N",
	  .help = "SCHED_FIFO priority of the perf that it starts and of\n"
		  "perf's children; 0: none (10)" },
	{ "archive", 0, OPTION_FLAG, TARGET(targets.archive),
	  .help = "at the end, move perf's files into a folder in --output\n"
		  "and run perf archive on them" },
	{ "session", 0, OPTION_STRING, TARGET(opts.session), .metavar = "NAME",
	  .help = "name for status, stop and poke (the process id)" },
	{ "detach", 0, OPTION_FLAG, TARGET(detach),
	  .help = "return when armed and continue in the background" },
	{ "log", 0, OPTION_STRING, TARGET(log), .metavar = "FILE",
	  .help = "append messages to FILE instead of standard error, and\n"
		  "with --detach results too; journal: the systemd journal\n"
		  "(with --detach: journal if running, else SESSION.log in\n"
		  "the output folder)" },
	{ "verbose", 'v', OPTION_FLAG, TARGET(verbose),
	  .help = "print debug messages, including libbpf's" },
	{ "top", 0, OPTION_FLAG, TARGET(top),
	  .help = "show a table of all CPUs each second, as rtla does" },
	{ "histogram", 0, OPTION_FLAG, TARGET(histogram),
	  .help = "print histograms at the end, as rtla timerlat hist does" },
	{ "bucket-size", 0, OPTION_TIME, .min = NS_PER_US, .max = NS_PER_S - 1,
	  TARGET(opts.histogram_width_ns), .metavar = "TIME",
	  .help = "bucket width of --histogram, in whole us (1us)" },
	{ "entries", 0, OPTION_COUNT, .min = 10, .max = 9999999, TARGET(opts.histogram_entries),
	  .metavar = "N", .help = "number of buckets of --histogram (256)" },
	{ "json", 0, OPTION_FLAG, TARGET(json), .help = "print JSON, see below" },
	{ NULL, 0, OPTION_REST, TARGET(targets.command), .metavar = "-- COMMAND",
	  .help = "perf record with -S or --switch-output=signal: started\n"
		  "with the session, poked at each spike, stopped at the end" },
};

static const char notes[] = OPTIONS_TIMES
	", but seconds for\n"
	"--duration, --warmup and --cooldown. Sizes take K, M or G.\n"
	"Ctrl-C (SIGINT), SIGTERM, SIGHUP or perf-poke-ctl stop ends the session and prints the\n"
	"results.\n"
	"If NOTIFY_SOCKET is set, the service manager (systemd) is notified when armed.\n"
	"\n"
	"With --detach, the exit code is 0 once the session is armed. If arming fails, the error\n"
	"is printed and the exit code is the session's.\n"
	"\n"
	"The events of -- perf record are enabled when the session is armed. The session stops\n"
	"perf at its end, and ends when perf exits; a second Ctrl-C does not wait for perf to\n"
	"write its data. --archive renames files: it fails (exit code 1) if --output is on\n"
	"another file system.\n"
	"\n"
	"Exit codes: 0 at least one complete capture, 1 failed (also a single capture),\n"
	"2 usage, 3 no spike. With --known: 0 spikes of known causes alone, 1 also if the cause\n"
	"of a capture is not found, 4 a new cause, or a known one that got worse.\n"
	"\n"
	"With --json, each line of standard output is an object:\n"
	"  {\"type\":\"detached\"} session, pid, log; with --detach, the others are in the log\n"
	"  {\"type\":\"armed\"}    session (null: not visible to others), cpus, threshold_ns,\n"
	"                      function, recorder, workload, delivery, targets, triggers\n"
	"  {\"type\":\"capture\"}  error (null: complete), path, cpu, latency_ns, skid_ns,\n"
	"                      blind_ns, history_ns, events, lost, size_bytes, comm, ...;\n"
	"                      Intel PT: trace_bytes, bytes_after_spike (null: unknown),\n"
	"                      bytes_after_spike_exact (false: upper bound)\n"
	"  {\"type\":\"removed\"}  path of a capture: --keep-worst, --max-disk, --known\n"
	"  {\"type\":\"error\"}    message\n"
	"  {\"type\":\"summary\"}  cpus: [{cpu, count, min_ns, avg_ns, p50_ns, p99_ns,\n"
	"                      p99_9_ns, max_ns, spikes, unarmed,\n"
	"                      histogram: [[low_ns, high_ns, count], ...]}, ...],\n"
	"                      with --histogram linear_histogram: {width_ns, entries,\n"
	"                      buckets: [[low_ns, count], ...], over};\n"
	"                      all: the same for all CPUs; missed, captures, failed,\n"
	"                      elapsed_ns; with --known: known, new, unjudged (captures);\n"
	"                      kept: [{number, path, cpu, latency_ns, trigger},\n"
	"                      ...]: remaining captures;\n"
	"                      perf: {pid, command, status, data: [...]}\n"
	"A high_ns of null means no upper limit.\n";

static int check_histogram(struct start_args *args, struct console *con)
{
	struct perf_poke_opts *opts = &args->opts;

	if (!args->histogram && (opts->histogram_entries || opts->histogram_width_ns)) {
		console_error(con, "--%s: needs --histogram",
			      opts->histogram_entries ? "entries" : "bucket-size");
		return -EINVAL;
	}
	if (opts->histogram_width_ns % NS_PER_US) {
		console_error(con, "--bucket-size: must be whole microseconds");
		return -EINVAL;
	}
	if (args->histogram && !opts->histogram_entries)
		opts->histogram_entries = RTLA_HIST_ENTRIES;
	if (args->histogram && !opts->histogram_width_ns)
		opts->histogram_width_ns = RTLA_HIST_BUCKET_US * NS_PER_US;
	return 0;
}

/* A mistake in the file is found before anything is armed. */
static int check_known(const struct start_args *args, struct console *con)
{
	_cleanup_(known_release) struct known known = { 0 };
	_cleanup_free_ char *why = NULL;
	int r;

	if (!args->known)
		return 0;
	if (args->opts.keep_worst || args->opts.max_disk) {
		console_error(con, "--known excludes --keep-worst and --max-disk");
		return -EINVAL;
	}
	r = known_read(&known, args->known, &why);
	if (r)
		console_error(con, "--known '%s': %s", args->known, why ?: strerror(-r));
	return r ? -EINVAL : 0;
}

static int check_targets(struct start_args *args, struct console *con)
{
	_cleanup_free_ char *why = NULL;
	int r = targets_check(&args->targets, &args->opts, &why);

	if (r)
		console_error(con, "%s", why ?: strerror(-r));
	return r;
}

/* Gives the span's trigger its text. */
static int check_span(struct start_args *args, struct console *con)
{
	const char *name = args->span_trigger, *span = args->span;
	_cleanup_free_ char *kinds = NULL;

	if (!name && !span)
		return 0;
	if (!name) {
		console_error(con, "--span '%s': needs --trigger %.*s=TIME", span,
			      (int)strcspn(span, "="), span);
		return -EINVAL;
	}
	if (!span || strcspn(name, "=") != strcspn(span, "=") ||
	    strncmp(name, span, strcspn(name, "="))) {
		kinds = join_kinds();
		console_error(con,
			      "--trigger '%s': not a trigger (use %s; as irq, irq=30us, "
			      "event=tp:SYS:NAME or marker=TEXT; or the NAME of --span)",
			      name, kinds);
		return -EINVAL;
	}
	for (size_t i = 0; i < args->nr_triggers; i++) {
		if (args->triggers[i].kind == PERF_POKE_TRIGGER_SPAN)
			args->triggers[i].text = span;
	}
	return 0;
}

int start_parse(struct start_args *args, struct console *con, int argc, char **argv)
{
	int r;

	*args = (struct start_args){
		.opts = {
			.sz = sizeof(args->opts),
			.argv = (const char *const *)argv,
			.argc = (size_t)argc,
		},
		.targets = targets_none,
	};
	r = command_options(&command_start, con, argc, argv, args);
	if (r)
		return r;
	if (!args->opts.threshold_ns)
		args->opts.threshold_ns =
			args->opts.adaptive_percent ? ADAPTIVE_NO_FLOOR_NS : 30 * NS_PER_US;
	if (!args->opts.max_captures)
		args->opts.max_captures = args->opts.keep_worst ? UINT64_MAX : 1;
	args->opts.triggers = args->triggers;
	args->opts.trigger_sz = sizeof(*args->triggers);
	args->opts.nr_triggers = args->nr_triggers;
	args->opts.events = args->events;
	args->opts.event_sz = sizeof(*args->events);
	args->opts.nr_events = args->nr_events;
	if (args->top && args->detach) {
		console_error(con, "--top excludes --detach (use perf-poke-ctl status --watch)");
		return -EINVAL;
	}
	r = check_histogram(args, con);
	if (!r)
		r = check_span(args, con);
	if (!r)
		r = check_known(args, con);
	return r ? r : check_targets(args, con);
}

void start_release(struct start_args *args)
{
	for (size_t i = 0; i < args->nr_events; i++)
		free((char *)args->events[i].name);
	free(args->events);
}

static enum exit_code run(struct console *con, int argc, char **argv)
{
	_cleanup_(start_release) struct start_args args;
	_cleanup_free_ char *why = NULL;
	struct detach detach = { 0 };
	enum exit_code code;
	int r;

	r = start_parse(&args, con, argc, argv);
	if (r)
		return command_options_exit(r);
	json_use(con, args.json);
	con->verbose = args.verbose;
	detach.where = args.log;
	if (args.detach) {
		r = detach_fork(&detach, con, &code);
		if (r)
			return r < 0 ? EXIT_FAILED : code;
	}
	if (args.log && logger_open(args.detach ? &detach.log : &con->log, args.log, &why)) {
		console_error(con, "%s", why ?: strerror(ENOMEM));
		return EXIT_USAGE;
	}
	return session_run(con, &args.opts, &args.targets, args.duration_ns,
			   args.detach ? &detach : NULL,
			   &(struct session_view){ .top = args.top && !args.json,
						   .histogram = args.histogram,
						   .known = args.known });
}

const struct command command_start = {
	.name = "start",
	.summary = "Watch CPUs for late timers and capture what ran before.",
	.arguments = "--cpu LIST [OPTIONS] [-- perf record ...]",
	.notes = notes,
	COMMAND_OPTIONS(options),
	.run = run,
};
