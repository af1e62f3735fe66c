// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "capture/captures.h"
#include "cli/cli.h"
#include "commands/commands.h"
#include "export/export.h"

#define TARGET(member) .offset = offsetof(struct export_args, member)
#define JOBS_MAX 256

static const struct perf_poke_choice axes[] = {
	{ "time", CALLS_TIME, NULL },
	{ "cycles", CALLS_CYCLES, NULL },
	{ "instructions", CALLS_INSNS, NULL },
};

static const struct option_spec options[] = {
	{ NULL, 0, OPTION_WORD, TARGET(capture), .metavar = "CAPTURE",
	  .help = FOLDER_CAPTURE_HELP },
	{ "output", 'o', OPTION_STRING, TARGET(output), .metavar = "FILE",
	  .help = "output file: FILE.fxt, or compressed FILE.fxt.gz" },
	{ "html", 0, OPTION_STRING, TARGET(html), .metavar = "FILE",
	  .help = "write a page for any browser instead, with the report" },
	{ "normal", 0, OPTION_FLAG, TARGET(normal),
	  .help = "with --html, compare with normal activations of the same\n"
		  "timer earlier in the trace, as report --normal" },
	{ "time", 't', OPTION_STRING, TARGET(time), .metavar = "BEGIN,END",
	  .help = "time window: -200us,50us relative to the spike, or\n"
		  "7.788,7.789 in seconds of the trace's clock; either side\n"
		  "may be empty" },
	{ "axis", 0, OPTION_ENUM, TARGET(axis), .choices = axes, .nr_choices = ARRAY_SIZE(axes),
	  .metavar = "KIND", .help = "time (default), cycles or instructions" },
	{ "jobs", 'j', OPTION_COUNT, .min = 1, .max = JOBS_MAX, TARGET(jobs), .metavar = "N",
	  .help = "decoding threads (one for each CPU)" },
	{ "symfs", 0, OPTION_STRING, TARGET(symfs), .metavar = "DIR", .help = DECODING_SYMFS_HELP },
	{ "max-size", 0, OPTION_SIZE, READER_MAX_SIZE, TARGET(max_size),
	  .help = "limit of memory (2G)" },
	{ "force", 'f', OPTION_FLAG, TARGET(force), .help = OUTPUT_FORCE_HELP },
	{ "quiet", 'q', OPTION_FLAG, TARGET(quiet), .help = "print warnings and errors only" },
};

static const char notes[] = "Open the file in https://ui.perfetto.dev.\n" OPTIONS_TIMES ".\n"
			    "\n"
			    "Exit codes: 0 file written, 1 failed (no file), 2 usage.\n";

static bool ends_with(const char *s, const char *end)
{
	size_t length = strlen(s), wanted = strlen(end);

	return length > wanted && !strcmp(s + length - wanted, end);
}

int export_parse(struct export_args *args, struct console *con, int argc, char **argv)
{
	uint64_t begin, end;
	int r;

	*args = (struct export_args){ 0 };
	r = command_options(&command_export, con, argc, argv, args);
	if (r)
		return r;
	if (!args->output == !args->html) {
		console_error(con, "give --output FILE or --html FILE%s",
			      args->html ? ", not both" : "");
		return -EINVAL;
	}
	if (args->html && (args->axis || args->jobs)) {
		console_error(con, "--html excludes --axis and --jobs");
		return -EINVAL;
	}
	if (args->normal && !args->html) {
		console_error(con, "--normal needs --html FILE");
		return -EINVAL;
	}
	if (args->output && !ends_with(args->output, ".fxt") &&
	    !ends_with(args->output, ".fxt.gz")) {
		console_error(con, "--output '%s': must end with .fxt or .fxt.gz", args->output);
		return -EINVAL;
	}
	/* The time of the spike is unknown yet: any will do. */
	r = args->time ? window_parse(args->time, UINT64_MAX / 2, &begin, &end) : 0;
	if (r && r != -ENOMEM) {
		console_error(con,
			      "--time '%s': must be BEGIN,END, as -200us,50us or 7.788,7.789%s",
			      args->time, r == -ERANGE ? ", with BEGIN before END" : "");
		return -EINVAL;
	}
	return r;
}

static enum exit_code run(struct console *con, int argc, char **argv)
{
	_cleanup_free_ char *folder = NULL;
	_cleanup_free_ char *data = NULL;
	_cleanup_(capture_file_close) struct capture_file capture = { 0 };
	struct export_args args;
	int r;

	r = export_parse(&args, con, argc, argv);
	if (r)
		return command_options_exit(r);
	if (!args.force && output_file_exists(args.output ?: args.html)) {
		console_error(con, "--%s '%s': %s", args.output ? "output" : "html",
			      args.output ?: args.html, output_file_strerror(-EEXIST));
		return EXIT_FAILED;
	}
	if (reader_begin(con, args.max_size, ": nothing is written") ||
	    folder_choose(con, args.capture, &folder))
		return EXIT_FAILED;
	args.capture = folder;
	if (capture_trace_need(con, args.capture, &capture, &data))
		return EXIT_FAILED;
	if ((!args.axis || args.time) &&
	    capture_trace_lacks_times(con, args.capture, &capture.facts))
		return EXIT_USAGE;
	if (args.html)
		return export_html(con, &args, &capture.facts);
	if (capture.facts.recorder == PERF_POKE_RECORDER_EVENTS && args.axis) {
		console_error(con, "--axis %s: '%s' has events, not Intel PT", axes[args.axis].name,
			      args.capture);
		return EXIT_USAGE;
	}
	return export_fxt(con, &args, &capture.facts, data);
}

const struct command command_export = {
	.name = "export",
	.summary = "Write a capture as a file for ui.perfetto.dev, or as a page.",
	.arguments = "[CAPTURE] -o FILE|--html FILE [OPTIONS]",
	.notes = notes,
	COMMAND_OPTIONS(options),
	.run = run,
};
