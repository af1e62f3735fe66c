// SPDX-License-Identifier: GPL-2.0-only
#include "commands/commands.h"

#include <string.h>

#include "causes/causes.h"
#include "cli/cli.h"
#include "clock.h"
#include "session/session.h"
#include "units.h"

#define TARGET(member) .offset = offsetof(struct start_args, member)

/* Of `start` and `run`. */
static const struct option_spec options[] = {
	{ .kind = OPTION_SESSION, TARGET(opts) },
	{ "auto", 'a', OPTION_TIME, .min = 1, .max = NSEC_PER_HOUR, TARGET(auto_ns),
	  .metavar = "US", .help = "as in rtla: --cpu all --threshold US" },
	{ "known", 0, OPTION_STRING, TARGET(hooks.known), .metavar = "FILE",
	  .help = "keep and count only captures with a cause that is not in\n"
		  "FILE, as written by causes --save (keep all)" },
	{ "on-capture", 0, OPTION_STRING, TARGET(hooks.command), .metavar = "CMD",
	  .help = "run a shell command for each capture, for at most 60 s,\n"
		  "with PERF_POKE_* set and JSON on standard input" },
	{ "metrics", 0, OPTION_STRING, TARGET(hooks.metrics), .metavar = "FILE",
	  .help = "metrics for node_exporter (textfile collector), each 10 s" },
	{ "duration", 0, OPTION_DURATION, .min = NSEC_PER_SEC / 1000, .max = 8760 * NSEC_PER_HOUR,
	  TARGET(duration_ns), .metavar = "TIME",
	  .help = "stop this long after arming (no limit)" },
	{ "housekeeping", 0, OPTION_CPUS, TARGET(targets.housekeeping), .metavar = "LIST",
	  .help = "CPUs for perf-poke and its perf (all but the watched ones)" },
	{ "log", 0, OPTION_STRING, TARGET(log), .metavar = "FILE",
	  .help = "append messages, and with --detach results, to FILE;\n"
		  "journal: the systemd journal (with --detach: journal, or\n"
		  "SESSION.log in --output)" },
	{ "verbose", 'v', OPTION_FLAG, TARGET(verbose),
	  .help = "print debug messages, including libbpf's" },
	{ "no-why", 0, OPTION_FLAG, TARGET(no_why),
	  .help = "do not print the cause of each capture" },
	{ "top", 0, OPTION_FLAG, TARGET(top),
	  .help = "show a table of all CPUs every second, as rtla does" },
	{ "json", 0, OPTION_FLAG, TARGET(json), .help = "print JSON, see perf-poke-capture(5)" },
	{ "detach", 0, OPTION_FLAG, TARGET(detach),
	  .help = "return when armed and continue in the background" },
	{ NULL, 0, OPTION_REST, TARGET(targets.command), .metavar = "-- COMMAND",
	  .help = "start: perf record with -S or --switch-output=signal:\n"
		  "started with the session, poked at each spike, stopped\n"
		  "at the end. run: the program" },
};

static const char notes[] = OPTIONS_TIMES
	", but seconds for\n"
	"--duration and --cooldown. Sizes take K, M or G.\n"
	"Ctrl-C, SIGTERM, SIGHUP or perf-poke-ctl stop ends the session and prints the results.\n"
	"\n"
	"Exit codes: 0 at least one complete capture (with --detach: armed), 1 failed (also a\n"
	"single capture), 2 usage, 3 no spike. With --known: 0 known causes only, 1 also if the\n"
	"cause of a capture is not found, 4 a new cause, or a known one that got worse.\n";

static const char run_notes[] =
	"The program starts once the session is armed, and the session ends with the program.\n"
	"Its timers are watched: the default is --workload none. Without --count, the worst\n"
	"capture is kept (--keep-worst 1). Ctrl-C goes to the program as well; SIGTERM is\n"
	"passed on. The other options are those of start.\n"
	"\n"
	"Exit codes: that of the program, or 128 plus the signal that ended it, unless it is 0;\n"
	"then as of start: 0 at least one complete capture, 1 failed, 2 usage, 3 no spike.\n";

/* Finds errors in the file before the session is armed. */
static int check_known_file(const struct start_args *args, struct console *con)
{
	_cleanup_(known_causes_release) struct known known = { 0 };
	_cleanup_free_ char *why = NULL;
	int err;

	if (!args->hooks.known)
		return 0;
	if (args->opts.keep_worst || args->opts.max_disk) {
		console_error(con, "--known excludes --keep-worst and --max-disk");
		return -EINVAL;
	}
	err = known_causes_read(&known, args->hooks.known, &why);
	if (err)
		console_error(con, "--known '%s': %s", args->hooks.known, why ?: strerror(-err));
	return err ? -EINVAL : 0;
}

/* What `run` has in other ways than `start`. */
static int start_apply_run(struct start_args *args, struct console *con)
{
	args->program = args->targets.command;
	args->targets.command = NULL;
	if (!args->program) {
		console_error(con, "-- COMMAND is required: the program to run");
		return -EINVAL;
	}
	if (args->detach) {
		console_error(con, "run excludes --detach");
		return -EINVAL;
	}
	if (args->opts.workload == PERF_POKE_WORKLOAD_AUTO)
		args->opts.workload = PERF_POKE_WORKLOAD_NONE;
	if (!args->opts.max_captures && !args->opts.keep_worst && !args->hooks.known)
		args->opts.keep_worst = 1;
	if (!args->opts.max_captures)
		args->opts.max_captures = UINT64_MAX;
	return 0;
}

int start_parse_args(struct start_args *args, struct console *con, int argc, char **argv)
{
	const struct command *cmd = strcmp(argv[1], "run") ? &command_start : &command_run;
	_cleanup_free_ char *why = NULL;
	int err;

	*args = (struct start_args){
		.opts = {
			.sz = sizeof(args->opts),
			.argv = (const char *const *)argv,
			.argc = (size_t)argc,
		},
	};
	err = command_options(cmd, con, argc, argv, args);
	if (!err && cmd == &command_run)
		err = start_apply_run(args, con);
	if (err)
		return err;
	args->hooks.why = !args->no_why && !args->json;
	if (args->auto_ns && args->opts.threshold_ns) {
		console_error(con, "--auto excludes --threshold");
		return -EINVAL;
	}
	if (args->auto_ns)
		args->opts.threshold_ns = args->auto_ns;
	if (args->auto_ns && !args->opts.cpus)
		args->opts.cpus = "all";
	if (!args->opts.threshold_ns)
		args->opts.threshold_ns = 30 * NSEC_PER_USEC;
	if (!args->opts.max_captures)
		args->opts.max_captures = args->opts.keep_worst ? UINT64_MAX : 1;
	if (args->top && args->json) {
		console_error(con, "--top excludes --json (use perf-poke-ctl status --json)");
		return -EINVAL;
	}
	if (args->top && args->detach) {
		console_error(con, "--top excludes --detach (use perf-poke-ctl status --watch)");
		return -EINVAL;
	}
	err = check_known_file(args, con);
	if (err)
		return err;
	err = target_args_check(&args->targets, &args->opts, &why);
	if (err)
		console_error(con, "%s", why ?: strerror(-err));
	return err;
}

void start_release_args(struct start_args *args)
{
	perf_poke__opts_release(&args->opts);
}

static enum exit_code run_start(struct console *con, int argc, char **argv)
{
	_cleanup_(start_release_args) struct start_args args;
	_cleanup_free_ char *why = NULL;
	struct detach detach = { 0 };
	struct session_view view;
	struct session *session;
	enum exit_code code;
	int err;

	err = start_parse_args(&args, con, argc, argv);
	if (err)
		return command_options_exit(err);
	view = (struct session_view){
		.words = argv,
		.top = args.top,
		.program = args.program,
		.hooks = args.hooks,
	};
	console_use_json(con, args.json);
	con->verbose = args.verbose;
	detach.where = args.log;
	if (args.detach) {
		err = detach_fork_child(&detach, con, &code);
		if (err)
			return err < 0 ? EXIT_FAILED : code;
	}
	if (args.log && logger_open_path(args.detach ? &detach.log : &con->log, args.log, &why)) {
		console_error(con, "%s", why ?: strerror(ENOMEM));
		return EXIT_USAGE;
	}
	session = session_new(con, &args.opts, &args.targets, args.detach ? &detach : NULL, &view);
	if (!session)
		return EXIT_FAILED;
	code = session_create(session);
	if (code == EXIT_FINE)
		code = session_enter_armed(session, args.duration_ns);
	if (code == EXIT_FINE) {
		session_watch_events(session);
		code = session_finish(session);
	}
	session_free(session);
	return code;
}

const struct command command_start = {
	.name = "start",
	.summary = "Watch CPUs for late timers and capture what ran before.",
	.arguments = "--cpu LIST [OPTIONS] [-- perf record ...]",
	.example = "perf-poke-ctl start --cpu 3 --threshold 50us --count 10",
	.notes = notes,
	COMMAND_OPTIONS(options),
	.run = run_start,
};

const struct command command_run = {
	.name = "run",
	.summary = "Run a program, watch its timers, and keep the worst capture.",
	.arguments = "--cpu LIST [OPTIONS] -- COMMAND",
	.example = "perf-poke-ctl run --cpu 3 --trigger thread=50us -- cyclictest -a3 -p95 -m -D60",
	.notes = run_notes,
	COMMAND_OPTIONS(options),
	.run = run_start,
};
