// SPDX-License-Identifier: GPL-2.0-only
#include "commands/commands.h"

#include <string.h>

#include "causes/known.h"
#include "cli/cli.h"
#include "session/detach.h"
#include "session/session.h"
#include "units.h"

#define NS_PER_US UINT64_C(1000)
#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_H (3600 * NS_PER_S)

static int parse_worse(void *target, const char *value, char **why)
{
	struct start_args *args = target;
	uint64_t percent;

	args->follow.sieve.worse = value;
	return option_number(OPTION_COUNT, value, 0, 1000000, &percent, why);
}

#define TARGET(member) .offset = offsetof(struct start_args, member)

static const struct option_spec options[] = {
	{ .kind = OPTION_SESSION, TARGET(opts) },
	{ NULL, 'g', OPTION_FLAG, TARGET(opts.call_graph), .help = "the same as --call-graph fp" },
	{ "known", 0, OPTION_STRING, TARGET(follow.sieve.known), .metavar = "FILE",
	  .help = "keep and count only captures with a cause that is not in\n"
		  "FILE, as written by causes --save (keep all)" },
	{ "worse", 0, OPTION_PARSED, .parse = parse_worse, .metavar = "PERCENT",
	  .help = "how much longer than before a known cause may take (25)" },
	{ "on-capture", 0, OPTION_STRING, TARGET(follow.command), .metavar = "CMD",
	  .help = "run a shell command for each capture, at most two at once,\n"
		  "with PERF_POKE_* set and JSON on standard input" },
	{ "on-capture-time", 0, OPTION_DURATION, .min = NS_PER_S, .max = 24 * NS_PER_H,
	  TARGET(follow.command_ns), .metavar = "TIME",
	  .help = "kill a command of --on-capture after this (60s)" },
	{ "metrics", 0, OPTION_STRING, TARGET(follow.metrics), .metavar = "FILE",
	  .help = "write Prometheus metrics to FILE every 10 s, for the\n"
		  "textfile collector of node_exporter" },
	{ "duration", 0, OPTION_DURATION, .min = NS_PER_S / 1000, .max = 8760 * NS_PER_H,
	  TARGET(duration_ns), .metavar = "TIME",
	  .help = "stop this long after arming (no limit)" },
	{ "housekeeping", 0, OPTION_CPUS, TARGET(targets.housekeeping), .metavar = "LIST",
	  .help = "CPUs for perf-poke and the perf that it starts (all but\n"
		  "the watched ones)" },
	{ "perf-priority", 0, OPTION_COUNT, .max = 99, TARGET(targets.priority), .metavar = "N",
	  .help = "SCHED_FIFO priority of the perf that it starts and of\n"
		  "perf's children; 0: none (10)" },
	{ "archive", 0, OPTION_FLAG, TARGET(targets.archive),
	  .help = "at the end, move perf's files into a folder in --output\n"
		  "and run perf archive on them" },
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
	  .help = "show a table of all CPUs every second, as rtla does" },
	{ "json", 0, OPTION_FLAG, TARGET(json), .help = "print JSON, see below" },
	{ NULL, 0, OPTION_REST, TARGET(targets.command), .metavar = "-- COMMAND",
	  .help = "perf record with -S or --switch-output=signal: started\n"
		  "with the session, poked at each spike, stopped at the end" },
};

static const char notes[] = OPTIONS_TIMES
	", but seconds for\n"
	"--duration, --on-capture-time and --cooldown. Sizes take K, M or G.\n"
	"Ctrl-C (SIGINT), SIGTERM, SIGHUP or perf-poke-ctl stop ends the session and prints the\n"
	"results.\n"
	"If NOTIFY_SOCKET is set, the service manager (systemd) learns when the session is\n"
	"armed.\n"
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
	"2 usage, 3 no spike. With --known: 0 known causes only, 1 also if the cause of a\n"
	"capture is not found, 4 a new cause, or a known one that got worse.\n"
	"\n"
	"With --json, each line of standard output is an object:\n"
	"  {\"type\":\"detached\"} session, pid, log (which has the other lines)\n"
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
	"                      histogram: [[low_ns, high_ns, count], ...]}, ...];\n"
	"                      all: the same for all CPUs; missed, captures, failed,\n"
	"                      elapsed_ns; with --known: known, new, unjudged (captures);\n"
	"                      kept: [{number, path, cpu, latency_ns, trigger},\n"
	"                      ...]: remaining captures;\n"
	"                      perf: {pid, command, status, data: [...]}\n"
	"A high_ns of null means no upper limit.\n";

/* Finds errors in the file before the session is armed. */
static int check_known(const struct start_args *args, struct console *con)
{
	_cleanup_(known_release) struct known known = { 0 };
	_cleanup_free_ char *why = NULL;
	int r;

	if (args->follow.sieve.worse && !args->follow.sieve.known) {
		console_error(con, "--worse: needs --known");
		return -EINVAL;
	}
	if (args->follow.command_ns && !args->follow.command) {
		console_error(con, "--on-capture-time: needs --on-capture");
		return -EINVAL;
	}
	if (!args->follow.sieve.known)
		return 0;
	if (args->opts.keep_worst || args->opts.max_disk) {
		console_error(con, "--known excludes --keep-worst and --max-disk");
		return -EINVAL;
	}
	r = known_read(&known, args->follow.sieve.known, &why);
	if (r)
		console_error(con, "--known '%s': %s", args->follow.sieve.known,
			      why ?: strerror(-r));
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
		args->opts.threshold_ns = 30 * NS_PER_US;
	if (!args->opts.max_captures)
		args->opts.max_captures = args->opts.keep_worst ? UINT64_MAX : 1;
	if (args->top && args->detach) {
		console_error(con, "--top excludes --detach (use perf-poke-ctl status --watch)");
		return -EINVAL;
	}
	r = check_known(args, con);
	return r ? r : check_targets(args, con);
}

void start_release(struct start_args *args)
{
	perf_poke__opts_release(&args->opts);
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
	return session_run(
		con, &args.opts, &args.targets, args.duration_ns, args.detach ? &detach : NULL,
		&(struct session_view){ .top = args.top && !args.json, .follow = args.follow });
}

const struct command command_start = {
	.name = "start",
	.summary = "Watch CPUs for late timers and capture what ran before.",
	.arguments = "--cpu LIST [OPTIONS] [-- perf record ...]",
	.notes = notes,
	COMMAND_OPTIONS(options),
	.run = run,
};
