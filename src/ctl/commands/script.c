// SPDX-License-Identifier: GPL-2.0-only
#include "commands/commands.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "clock.h"

#define TARGET(member) .offset = offsetof(struct script_args, member)

static const struct option_spec options[] = {
	{ NULL, 0, OPTION_WORD, TARGET(capture), .metavar = "CAPTURE",
	  .help = FOLDER_CAPTURE_HELP },
	{ "window", 'w', OPTION_TIME, .min = 1, .max = 8760 * NSEC_PER_HOUR, TARGET(view.window_ns),
	  .metavar = "TIME",
	  .help = "time before the spike (200us of Intel PT, 1ms of ftrace,\n"
		  "10ms of events)" },
	{ "all", 0, OPTION_FLAG, TARGET(view.all), .help = "show all recorded time" },
	{ "cpu", 'C', OPTION_CPUS, TARGET(view.cpus), .metavar = "LIST",
	  .help = "show these CPUs, such as 3 or 2,4-7 (the spike's)" },
	{ "all-cpus", 'a', OPTION_FLAG, TARGET(view.all_cpus), .help = "show all CPUs" },
	{ "insns", 0, OPTION_FLAG, TARGET(insns),
	  .help = "show each instruction of Intel PT, disassembled by xed or\n"
		  "by a perf with capstone, else as bytes" },
	{ "symfs", 0, OPTION_STRING, TARGET(view.symfs), .metavar = "DIR",
	  .help = DECODING_SYMFS_HELP },
	{ "dry-run", 'n', OPTION_FLAG, TARGET(dry_run),
	  .help = "print the command for a shell instead of running it" },
	{ "quiet", 'q', OPTION_FLAG, TARGET(quiet), .help = "do not print perf's version" },
	{ NULL, 0, OPTION_REST, TARGET(view.rest), .metavar = "-- ARGS",
	  .help = "more arguments for perf script, such as -- -F +srcline" },
};

static const char notes[] =
	"Runs perf from PATH, or $PERF_POKE_PERF, and trace-cmd for captures of ftrace. Shows "
	"events\n"
	"up to the spike, and Intel PT as calls and returns up to the end of the "
	"trace.\n" OPTIONS_TIMES ".\n"
	"\n"
	"Exit codes: perf's, 1 the capture is unreadable or there is no such program, 2 usage.\n";

int script_parse_args(struct script_args *args, struct console *con, int argc, char **argv)
{
	int err;

	*args = (struct script_args){ 0 };
	err = command_options(&command_script, con, argc, argv, args);
	if (err)
		return err;
	if (args->view.all && args->view.window_ns) {
		console_error(con, "--all excludes --window");
		return -EINVAL;
	}
	if (args->view.all_cpus && args->view.cpus) {
		console_error(con, "--all-cpus excludes --cpu");
		return -EINVAL;
	}
	return 0;
}

static enum view_insns choose_insns_option(const struct perf_tool *perf)
{
	_cleanup_free_ char *xed = NULL;

	if (!perf_tool_search("xed", &xed))
		return VIEW_INSNS_XED;
	return perf_tool_disassembles(perf) ? VIEW_INSNS_DISASM : VIEW_INSNS_RAW;
}

static enum exit_code print_shell_words(struct console *con, char *const *argv)
{
	for (size_t i = 0; argv[i]; i++) {
		_cleanup_free_ char *word = NULL;

		if (text_shell_word(argv[i], &word)) {
			console_error(con, "%s", strerror(ENOMEM));
			return EXIT_FAILED;
		}
		fprintf(con->out, "%s%s", i ? " " : "", word);
	}
	fputc('\n', con->out);
	return EXIT_FINE;
}

/* Executes perf. Returns on failure only. */
static enum exit_code execute_perf_script(struct console *con, char **argv)
{
	fflush(con->out);
	execv(argv[0], argv);
	console_error(con, "'%s': %s", argv[0], strerror(errno));
	return EXIT_FAILED;
}

static enum exit_code show_perf_script(struct console *con, const struct script_args *args,
				       const struct facts *facts, const char *data)
{
	_cleanup_(perf_tool_release) struct perf_tool perf = { 0 };
	_cleanup_(argv_free_words) char **argv = NULL;
	struct view_options view = args->view;
	_cleanup_free_ char *buildid_dir = NULL;
	_cleanup_free_ char *why = NULL;
	int err;

	err = perf_tool_find(&perf, &why);
	/* Like perf, end when the reader of the output goes away. */
	signal(SIGPIPE, SIG_DFL);
	if (err) {
		console_error(con, "%s", why ?: strerror(-err));
		return EXIT_FAILED;
	}
	if (!args->quiet && console_has_status(con) && console_terminal_columns(con))
		console_info(con, "%s (%s)", perf.version, perf.path);
	if (args->insns)
		view.insns = choose_insns_option(&perf);
	if (view.insns == VIEW_INSNS_RAW)
		console_warn(con, "showing instructions as bytes: install xed, or a perf with "
				  "capstone, for disassembly");
	err = capture_trace_buildid_dir(args->capture, &buildid_dir);
	view.buildid_dir = buildid_dir;
	if (!err)
		err = perf_script_argv(facts, &view, perf.path, data, &argv);
	if (err) {
		console_error(con, "%s", strerror(-err));
		return EXIT_FAILED;
	}
	return args->dry_run ? print_shell_words(con, argv) : execute_perf_script(con, argv);
}

#define TRACE_CMD_CPU " [%*d] "
#define TRACE_CMD_TIME " %" SCNu64 ".%9" SCNu64 ":"

/* Lines of trace-cmd in a window of time. Further lines of an event follow it. */
struct trace_cmd_lines {
	FILE *out;
	uint64_t begin, end;
	bool shown;
};

static void show_trace_cmd_line(void *ctx, char *line)
{
	struct trace_cmd_lines *lines = ctx;
	const char *cpu = strstr(line, " [");
	uint64_t seconds, ns;

	/*
	 * Such as `stress-812 [001]  3673.514368789: funcgraph_entry: ...`. Since trace-cmd 3.2 the
	 * latency field `d.h1.` precedes the time.
	 */
	if (cpu && (sscanf(cpu, TRACE_CMD_CPU TRACE_CMD_TIME, &seconds, &ns) == 2 ||
		    sscanf(cpu, TRACE_CMD_CPU "%*s" TRACE_CMD_TIME, &seconds, &ns) == 2))
		lines->shown = seconds * NSEC_PER_SEC + ns >= lines->begin &&
			       seconds * NSEC_PER_SEC + ns <= lines->end;
	if (lines->shown)
		fprintf(lines->out, "%s\n", line);
}

static enum exit_code show_trace_cmd_report(struct console *con, const struct script_args *args,
					    const struct facts *facts, const char *data)
{
	uint64_t window_ns = args->view.window_ns ?: VIEW_WINDOW_FTRACE_NS;
	struct trace_cmd_lines lines = { .out = con->out, .end = facts->spike.time_ns };
	_cleanup_(argv_free_words) char **argv = NULL;
	_cleanup_free_ char *program = NULL;
	int err = perf_tool_search("trace-cmd", &program);

	if (err == -ENOENT) {
		console_error(con, "no trace-cmd in PATH: install the package trace-cmd");
		return EXIT_FAILED;
	}
	signal(SIGPIPE, SIG_DFL);
	err = err ?: trace_cmd_report_argv(facts, &args->view, program, data, &argv);
	if (!err && args->dry_run)
		return print_shell_words(con, argv);
	if (args->view.all)
		lines.end = UINT64_MAX;
	else if (lines.end > window_ns)
		lines.begin = lines.end - window_ns;
	if (!err && !args->quiet)
		console_info(con, "%s", program);
	err = err ?: perf_tool_lines(argv, false, show_trace_cmd_line, &lines);
	if (!err)
		return EXIT_FINE;
	if (err < 0)
		console_error(con, "%s: %s", program, strerror(-err));
	else
		console_error(con, "'%s' cannot be read: trace-cmd ends with status %d", data, err);
	return EXIT_FAILED;
}

static enum exit_code run_script(struct console *con, int argc, char **argv)
{
	_cleanup_free_ char *folder = NULL, *data = NULL, *why = NULL;
	_cleanup_(capture_file_close) struct capture_file capture = { 0 };
	struct analysis_hooks hooks;
	struct script_args args;
	int err;

	err = script_parse_args(&args, con, argc, argv);
	if (err)
		return command_options_exit(err);
	reader_hooks(con, &hooks);
	err = capture_folder_choose(args.capture, &folder, &why);
	args.capture = folder;
	if (!err)
		err = capture_trace_need(&hooks, args.capture, &capture, &data, &why);
	if (err) {
		console_error(con, "%s", why ?: strerror(ENOMEM));
		return EXIT_FAILED;
	}
	if (args.insns && capture.facts.recorder != PERF_POKE_RECORDER_PT) {
		console_error(con, "--insns: '%s' has no Intel PT", args.capture);
		return EXIT_USAGE;
	}
	if (args.view.window_ns && capture_trace_need_times(args.capture, &capture.facts, &why)) {
		console_error(con, "%s", why ?: strerror(ENOMEM));
		return EXIT_USAGE;
	}
	if (facts_is_ftrace(&capture.facts))
		return show_trace_cmd_report(con, &args, &capture.facts, data);
	if (capture.facts.no_times && !args.quiet)
		console_info(con, "the trace has no times: showing all of it, up to the spike");
	return show_perf_script(con, &args, &capture.facts, data);
}

const struct command command_script = {
	.name = "script",
	.summary = "Show the trace before the spike as text.",
	.arguments = "[CAPTURE] [OPTIONS] [-- ARGS]",
	.example = "perf-poke-ctl script -- --show-task-events | less",
	.notes = notes,
	COMMAND_OPTIONS(options),
	.run = run_script,
};
