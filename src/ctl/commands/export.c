// SPDX-License-Identifier: GPL-2.0-only
#include "commands/export.h"

#include <fcntl.h>
#include <string.h>

#include "capture/capture_trace.h"
#include "capture/decoding.h"
#include "capture/newest.h"
#include "cli/ending.h"
#include "cli/output_file.h"
#include "commands/commands.h"
#include "export/events.h"
#include "export/window.h"
#include "fxt/fxt_timeline.h"
#include "tree.h"
#include "units.h"

#define NS_PER_H UINT64_C(3600000000000)
#define TARGET(member) .offset = offsetof(struct export_args, member)
#define JOBS_MAX 256

static const struct option_choice axes[] = {
	{ "time", CALLS_TIME, NULL },
	{ "cycles", CALLS_CYCLES, NULL },
	{ "instructions", CALLS_INSNS, NULL },
};

static const struct option_choice tracks[] = {
	{ "all", 0, NULL },
	{ "threads", 1, NULL },
};

static const struct option_spec options[] = {
	{ NULL, 0, OPTION_WORD, TARGET(capture), .metavar = "CAPTURE", .help = NEWEST_HELP },
	{ "output", 'o', OPTION_STRING, TARGET(output), .metavar = "FILE",
	  .help = "what to write: FILE.fxt, or compressed FILE.fxt.gz" },
	{ "html", 0, OPTION_STRING, TARGET(html), .metavar = "FILE",
	  .help = "or a page for any browser, with what report says too" },
	{ "time", 't', OPTION_STRING, TARGET(time), .metavar = "BEGIN,END",
	  .help = "only this: -200us,50us from before to after the spike, or\n"
		  "seconds of the trace's clock as 7.788,7.789; a side may be\n"
		  "empty" },
	{ "axis", 0, OPTION_ENUM, TARGET(axis), .choices = axes, .nr_choices = ARRAY_SIZE(axes),
	  .metavar = "KIND", .help = "time (default), cycles or instructions" },
	{ "tracks", 0, OPTION_ENUM, TARGET(tracks), .choices = tracks,
	  .nr_choices = ARRAY_SIZE(tracks), .metavar = "KIND",
	  .help = "all (default): functions of each thread, and of each CPU;\n"
		  "threads: half as much" },
	{ "split", 0, OPTION_TIME, .min = 1000, .max = 8760 * NS_PER_H, TARGET(split_ns),
	  .metavar = "TIME", .help = "a file for each such time: FILE.000.fxt and so on" },
	{ "jobs", 'j', OPTION_COUNT, .min = 1, .max = JOBS_MAX, TARGET(jobs), .metavar = "N",
	  .help = "threads that decode (one for each CPU)" },
	{ "symfs", 0, OPTION_STRING, TARGET(symfs), .metavar = "DIR", .help = DECODING_SYMFS_HELP },
	{ "force", 'f', OPTION_FLAG, TARGET(force), .help = OUTPUT_FORCE_HELP },
	{ "quiet", 'q', OPTION_FLAG, TARGET(quiet), .help = "say nothing if all goes well" },
};

static const char notes[] = "Open the file in https://ui.perfetto.dev.\n" OPTIONS_TIMES ".\n"
			    "\n"
			    "Exit codes: 0 the file is complete, 1 it is not there, 2 usage.\n";

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
	if (args->html && (args->axis || args->tracks || args->split_ns || args->jobs)) {
		console_error(con, "--html does not go together with --axis, --tracks, --split or "
				   "--jobs");
		return -EINVAL;
	}
	if (args->output && !ends_with(args->output, ".fxt") &&
	    !ends_with(args->output, ".fxt.gz")) {
		console_error(con, "--output '%s': must end with .fxt or .fxt.gz", args->output);
		return -EINVAL;
	}
	if (args->split_ns && args->axis) {
		console_error(con, "--split and --axis %s do not go together",
			      axes[args->axis].name);
		return -EINVAL;
	}
	/* The spike is not known yet, but that there is one. */
	r = args->time ? window_parse(args->time, UINT64_MAX / 2, &begin, &end) : 0;
	if (r && r != -ENOMEM) {
		console_error(con,
			      "--time '%s': must be BEGIN,END, as -200us,50us or 7.788,7.789%s",
			      args->time, r == -ERANGE ? ", with BEGIN before END" : "");
		return -EINVAL;
	}
	return r;
}

/* The files in the folder get their place beside it. Returns how many, or a negative errno. */
static int publish(const char *folder, const struct export_args *args)
{
	const char *output = args->output;
	const char *slash = strrchr(output, '/');
	int length = slash ? (int)(slash - output) + 1 : 0;
	_cleanup_closedir_ DIR *dir = opendir(folder);
	struct dirent *entry;
	int nr = 0, r;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		_cleanup_free_ char *path = NULL;

		if (entry->d_name[0] == '.')
			continue;
		if (asprintf(&path, "%.*s%s", length, output, entry->d_name) < 0) {
			path = NULL;
			return -ENOMEM;
		}
		r = output_file_rename(dirfd(dir), entry->d_name, path, args->force);
		if (r)
			return r;
		nr++;
	}
	return nr;
}

static void tell(struct console *con, const struct export_args *args,
		 const struct decoding_result *result, int nr)
{
	const struct decode_stats *stats = &result->stats;

	if (stats->errors)
		console_warn(con, "%s of decoding, the first: %s",
			     FORMAT_COUNT(stats->errors, "error", "errors"), stats->first_error);
	if (stats->overflows)
		console_warn(con, "%s of the CPU: what it executed meanwhile is lost",
			     FORMAT_COUNT(stats->overflows, "overflow", "overflows"));
	if (args->quiet)
		return;
	console_info(con, "%s: %s%s%s", args->output,
		     FORMAT_COUNT(result->slices, "slice", "slices"), args->split_ns ? " in " : "",
		     args->split_ns ? FORMAT_COUNT(nr, "file", "files") : "");
	if (result->gaps)
		console_info(con, "%s in the trace", FORMAT_COUNT(result->gaps, "gap", "gaps"));
}

/* To files in the folder. Returns as decoding_run(). */
static int write_files(struct console *con, const struct export_args *args,
		       const struct view_capture *capture, const char *data, const char *path,
		       struct decoding_result *result, bool *said)
{
	const struct fxt_timeline_opts opts = {
		.path = path,
		.split = args->split_ns,
		.stop = &ending_asked,
	};
	struct decoding decoding = {
		.folder = args->capture,
		.data = data,
		.symfs = args->symfs,
		.capture = capture,
		.doing = "exporting",
		.cpu = -1,
		.threads = args->jobs ? (unsigned int)args->jobs : decoding_threads(),
		.axis = (enum calls_axis)args->axis,
		.threads_only = args->tracks,
		.end = UINT64_MAX,
		.split = args->split_ns,
	};
	struct fxt_timeline *sink;
	struct names *names;
	int r = args->time ? window_parse(args->time, capture->spike_ns, &decoding.begin,
					  &decoding.end)
			   : 0;

	if (!r)
		r = names_new(&names);
	if (r)
		return r;
	r = fxt_timeline_new(&sink, &opts, names);
	if (!r) {
		r = decoding_run(con, &decoding, &fxt_timeline_ops, sink, names, result, said);
		fxt_timeline_free(sink);
	}
	names_free(names);
	return r;
}

static enum exit_code write_in(struct console *con, const struct export_args *args,
			       const struct view_capture *capture, const char *data,
			       const char *folder)
{
	const char *slash = strrchr(args->output, '/');
	struct decoding_result result = { 0 };
	_cleanup_free_ char *path = NULL;
	bool said = false;
	int r = -ENOMEM;

	if (asprintf(&path, "%s/%s", folder, slash ? slash + 1 : args->output) < 0)
		path = NULL;
	else if (capture->kind == VIEW_EVENTS)
		r = export_events(con, args, capture, data, path, &result.slices, &said);
	else
		r = write_files(con, args, capture, data, path, &result, &said);
	if (r == -EINTR)
		console_error(con, "interrupted: nothing is written");
	else if (r && !said)
		console_error(con, "'%s' cannot be exported: %s", args->capture, strerror(-r));
	if (r)
		return EXIT_FAILED;
	r = publish(folder, args);
	if (r < 0) {
		console_error(con, "--output '%s': %s", args->output, output_file_strerror(r));
		return EXIT_FAILED;
	}
	tell(con, args, &result, r);
	return EXIT_FINE;
}

/* What is written is in a folder of its own, until it is complete. */
static enum exit_code write_output(struct console *con, const struct export_args *args,
				   const struct view_capture *capture, const char *data)
{
	_cleanup_free_ char *folder = NULL;
	enum exit_code code = EXIT_FAILED;
	struct ending ending;

	if (asprintf(&folder, "%s.XXXXXX", args->output) < 0) {
		folder = NULL;
		console_error(con, "%s", strerror(ENOMEM));
		return EXIT_FAILED;
	}
	ending_catch(&ending);
	if (mkdtemp(folder))
		code = write_in(con, args, capture, data, folder);
	else
		console_error(con, "--output '%s': %s", args->output, strerror(errno));
	tree_remove(AT_FDCWD, folder);
	ending_release(&ending);
	return code;
}

static enum exit_code run(struct console *con, int argc, char **argv)
{
	_cleanup_free_ char *folder = NULL;
	_cleanup_free_ char *data = NULL;
	struct capture_file capture;
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
	if (newest_choose(con, args.capture, &folder))
		return EXIT_FAILED;
	args.capture = folder;
	if (capture_trace_need(con, args.capture, &capture, &data))
		return EXIT_FAILED;
	if ((!args.axis || args.time) &&
	    capture_trace_lacks_times(con, args.capture, &capture.view))
		return EXIT_USAGE;
	if (args.html)
		return export_html(con, &args, &capture.view);
	if (capture.view.kind == VIEW_EVENTS && (args.axis || args.tracks || args.split_ns)) {
		console_error(con, "'%s' has events: --axis, --tracks and --split are for Intel PT",
			      args.capture);
		return EXIT_USAGE;
	}
	return write_output(con, &args, &capture.view, data);
}

const struct command command_export = {
	.name = "export",
	.summary = "Write a capture as a file for ui.perfetto.dev, or as a page.",
	.arguments = "[CAPTURE] -o FILE|--html FILE [OPTIONS]",
	.notes = notes,
	.options = options,
	.nr_options = ARRAY_SIZE(options),
	.run = run,
};
