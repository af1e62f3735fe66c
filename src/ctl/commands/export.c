// SPDX-License-Identifier: GPL-2.0-only
#include "commands/commands.h"

#include <inttypes.h>
#include <string.h>

#include "output/fxt.h"
#include "output/output.h"
#include "text.h"
#include "units.h"

#define TARGET(member) .offset = offsetof(struct export_args, member)
#define JOBS_MAX 256
/* Default time after the spike: the time before it, divided by this. */
#define AFTER_PART 4

static const struct perf_poke_choice axes[] = {
	{ "time", CALLS_TIME, NULL },
	{ "cycles", CALLS_CYCLES, NULL },
	{ "instructions", CALLS_INSNS, NULL },
};

static const struct option_spec options[] = {
	{ NULL, 0, OPTION_WORD, TARGET(capture), .metavar = "CAPTURE",
	  .help = FOLDER_CAPTURE_HELP },
	{ "output", 'o', OPTION_STRING, TARGET(output), .metavar = "FILE",
	  .help = "output file: FILE.pftrace or FILE.fxt; compressed if\n"
		  "it ends with .gz" },
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

int export_parse_args(struct export_args *args, struct console *con, int argc, char **argv)
{
	uint64_t begin, end;
	int err;

	*args = (struct export_args){ 0 };
	err = command_options(&command_export, con, argc, argv, args);
	if (err)
		return err;
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
	if (args->output && !trace_format_of(args->output)) {
		console_error(con, "--output '%s': must end with .pftrace or .fxt, or .gz after it",
			      args->output);
		return -EINVAL;
	}
	/* The time of the spike is unknown yet: any will do. */
	err = args->time ? time_window_parse(args->time, UINT64_MAX / 2, &begin, &end) : 0;
	if (err && err != -ENOMEM) {
		console_error(con,
			      "--time '%s': must be BEGIN,END, as -200us,50us or 7.788,7.789%s",
			      args->time, err == -ERANGE ? ", with BEGIN before END" : "");
		return -EINVAL;
	}
	return err;
}

static void print_export_summary(struct console *con, const struct export_args *args,
				 const struct decoding_result *result)
{
	const struct decode_stats *stats = &result->stats;

	if (result->errors)
		console_warn(con, "%s, first: %s; %s",
			     FORMAT_COUNT(result->errors, "decoding error", "decoding errors"),
			     result->first_error, result->error_help);
	if (stats->overflows)
		console_warn(con, "%s of Intel PT: trace was lost",
			     FORMAT_COUNT(stats->overflows, "overflow", "overflows"));
	if (stats->truncated)
		console_warn(con, "full buffer %s: trace was lost",
			     FORMAT_COUNT(stats->truncated, "time", "times"));
	if (stats->lost_records)
		console_warn(con, "%s lost by the kernel: names of tasks and files may be wrong",
			     FORMAT_COUNT(stats->lost_records, "record", "records"));
	if (args->quiet)
		return;
	console_info(con, "%s: %s", args->output, FORMAT_COUNT(result->slices, "slice", "slices"));
	if (result->gaps)
		console_info(con, "%s in the trace", FORMAT_COUNT(result->gaps, "gap", "gaps"));
}

static int export_fxt_file(struct console *con, const struct export_args *args,
			   const struct timeline_export *export, char **why)
{
	struct fxt_timeline_opts file = {
		.path = args->output,
		.body = -1,
		.facts = export->facts,
		.is_monotonic = export->axis == CALLS_TIME && !export->facts->to_clock_ns,
	};
	struct decoding_result result = { 0 };
	struct output_file output;
	struct unchanged unchanged;
	int err;

	unchanged_begin_check(&unchanged, export->hooks, args->capture);
	err = output_file_open(&output, args->output, args->force);
	if (!err) {
		file.fd = output.fd;
		file.body = output_file_scratch(&output);
		err = file.body < 0 ? file.body : 0;
	}
	if (!err) {
		err = timeline_export(export, &file, &result, why);
		err = unchanged_end_check(&unchanged, err, why);
		if (!err)
			err = output_file_publish(&output);
	}
	if (err && !*why)
		err = failure_explain(why, -EIO, "--output '%s': %s", args->output,
				      output_file_strerror(err));
	if (!err)
		print_export_summary(con, args, &result);
	closep(&file.body);
	output_file_close(&output);
	return err;
}

/* Gets the window of --time around the spike; a *before_ns of 0 means the default. */
static int find_page_window(const struct export_args *args, const struct facts *facts,
			    uint64_t *before_ns, uint64_t *after_ns)
{
	uint64_t spike = facts->spike.time_ns, begin, end;
	int err;

	*before_ns = 0;
	*after_ns = (facts->spike.latency_ns > VIEW_WINDOW_PT_NS ? facts->spike.latency_ns
								 : VIEW_WINDOW_PT_NS) /
		    AFTER_PART;
	if (!args->time)
		return 0;
	err = time_window_parse(args->time, spike, &begin, &end);
	if (err)
		return err;
	if (begin >= spike || end < spike)
		return -ERANGE;
	*before_ns = spike - begin;
	/* The end of the trace. */
	if (end == UINT64_MAX)
		end = spike + *before_ns;
	*after_ns = end - spike;
	return 0;
}

/* Without leaving a file on failure. */
static int export_html_page(struct console *con, const struct export_args *args,
			    const struct analysis_hooks *hooks, const struct facts *facts,
			    char **why)
{
	_cleanup_(account_release) struct account account = { 0 };
	_cleanup_(comparison_release) struct comparison comparison = { 0 };
	const struct comparison_want normal = { .folder = args->capture,
						.symfs = args->symfs,
						.activations = NORMAL_ACTIVATIONS };
	struct account_want want = { .symfs = args->symfs, .lines = true };
	struct output_file output;
	FILE *file = NULL;
	int err = find_page_window(args, facts, &want.window_ns, &want.after_ns);

	if (err)
		return failure_explain(why, -EXDEV,
				       "--time '%s': must begin before the spike and end at it or "
				       "after, as -1ms,200us",
				       args->time);
	err = account_load(&account, hooks, args->capture, &want, why);
	if (!err && args->normal)
		err = comparison_load(&comparison, hooks, &normal, why);
	if (err)
		return err;
	err = output_file_open(&output, args->html, args->force);
	if (!err) {
		file = fdopen(dup(output.fd), "w");
		err = file ? html_report_write(file, &account, args->normal ? &comparison : NULL)
			   : -errno;
	}
	if (file && fclose(file))
		err = err ?: -errno;
	if (!err)
		err = output_file_publish(&output);
	output_file_close(&output);
	if (err)
		return failure_explain(why, -EIO, "--html '%s': %s", args->html,
				       output_file_strerror(err));
	if (!args->quiet)
		console_info(con, "%s: %" PRIu32 " slices", args->html,
			     account.spans->lanes[LANE_CODE].nr);
	return 0;
}

/* Returns 0, or a negative errno with *why: -EXDEV for bad usage. */
static int export_capture(struct console *con, const struct export_args *args,
			  const struct analysis_hooks *hooks, char **why)
{
	_cleanup_(capture_file_close) struct capture_file capture = { 0 };
	_cleanup_free_ char *data = NULL;
	const struct facts *facts = &capture.facts;
	int err = capture_trace_need(hooks, args->capture, &capture, &data, why);

	if (err)
		return err == -EXDEV ? -EIO : err;
	if ((!args->axis || args->time) && capture_trace_need_times(args->capture, facts, why))
		return -EXDEV;
	if (args->html)
		return export_html_page(con, args, hooks, facts, why);
	if (!facts_is_pt(facts) && args->axis)
		return failure_explain(why, -EXDEV, "--axis %s: '%s' has events, not Intel PT",
				       axes[args->axis].name, args->capture);
	return export_fxt_file(con, args,
			       &(struct timeline_export){
				       .hooks = hooks,
				       .folder = args->capture,
				       .data = data,
				       .facts = facts,
				       .time = args->time,
				       .symfs = args->symfs,
				       .axis = (enum calls_axis)args->axis,
				       .threads = (unsigned int)args->jobs,
			       },
			       why);
}

static enum exit_code run_export(struct console *con, int argc, char **argv)
{
	_cleanup_free_ char *folder = NULL, *why = NULL;
	struct analysis_hooks hooks;
	struct export_args args;
	int err;

	err = export_parse_args(&args, con, argc, argv);
	if (err)
		return command_options_exit(err);
	if (!args.force && output_file_exists(args.output ?: args.html)) {
		console_error(con, "--%s '%s': %s", args.output ? "output" : "html",
			      args.output ?: args.html, output_file_strerror(-EEXIST));
		return EXIT_FAILED;
	}
	if (reader_begin(con, args.max_size, ": nothing is written"))
		return EXIT_FAILED;
	reader_hooks(con, &hooks);
	err = capture_folder_choose(args.capture, &folder, &why);
	args.capture = folder;
	if (err)
		err = -ENOENT;
	else
		err = export_capture(con, &args, &hooks, &why);
	if (!err)
		return EXIT_FINE;
	console_error(con, "%s", why ?: strerror(ENOMEM));
	return err == -EXDEV ? EXIT_USAGE : EXIT_FAILED;
}

const struct command command_export = {
	.name = "export",
	.summary = "Write a capture as a file for ui.perfetto.dev, or as a page.",
	.arguments = "[CAPTURE] -o FILE|--html FILE [OPTIONS]",
	.example = "perf-poke-ctl export --html spike.html",
	.notes = notes,
	COMMAND_OPTIONS(options),
	.run = run_export,
};
