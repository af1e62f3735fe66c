// SPDX-License-Identifier: GPL-2.0-only
#include "export.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>

#include "ending.h"
#include "export_jobs.h"
#include "newest.h"
#include "output_file.h"
#include "perf_tool.h"
#include "script.h"
#include "tree.h"
#include "units.h"
#include "window.h"

#define FILTER "perf-poke-fxt.so"
#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_H UINT64_C(3600000000000)
#define TARGET(member) .offset = offsetof(struct export_args, member)
/* More than export_argv() adds of its own. */
#define MAX_WORDS 32
#define JOBS_MAX 256
/* Less trace is not worth a job of its own. */
#define JOB_BYTES (UINT64_C(2) << 20)
/* Of a job: each costs perf's start. */
#define JOB_SLICES 2

static const struct option_choice axes[] = {
	{ "time", EXPORT_TIME, NULL },
	{ "cycles", EXPORT_CYCLES, NULL },
	{ "instructions", EXPORT_INSNS, NULL },
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
	  .help = "perfs that decode at once, a slice of the trace each; default:\n"
		  "one for each CPU, and for each 2 MiB of trace" },
	{ "force", 'f', OPTION_FLAG, TARGET(force), .help = OUTPUT_FORCE_HELP },
	{ "dry-run", 'n', OPTION_FLAG, TARGET(dry_run),
	  .help = "print perf's command line, for a shell, and do not run it" },
	{ "quiet", 'q', OPTION_FLAG, TARGET(quiet), .help = "say nothing if all goes well" },
	{ NULL, 0, OPTION_REST, TARGET(rest), .metavar = "-- ARGS",
	  .help = "for perf script, after ours" },
};

static const char notes[] =
	"Open the file in https://ui.perfetto.dev. Runs the perf in PATH, or the one that\n"
	"PERF_POKE_PERF names, with the filter perf-poke-fxt.so, which works by hand too:\n"
	"--dry-run shows how.\n" OPTIONS_TIMES ".\n"
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
	if (args->html && (args->axis || args->tracks || args->split_ns || args->jobs ||
			   args->dry_run || args->rest)) {
		console_error(con, "--html does not go together with --axis, --tracks, --split, "
				   "--jobs, --dry-run or -- ARGS");
		return -EINVAL;
	}
	if (args->jobs > 1 && args->rest) {
		console_error(con, "--jobs %" PRIu64 " and -- ARGS do not go together", args->jobs);
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

struct words {
	char **argv;
	size_t nr;
	int r;
};

/* What fails is kept, and checked at the end. */
static void _printf_(2, 3) add(struct words *words, const char *format, ...)
{
	va_list list;

	if (words->r)
		return;
	va_start(list, format);
	if (vasprintf(&words->argv[words->nr], format, list) < 0) {
		words->argv[words->nr] = NULL;
		words->r = -ENOMEM;
	} else {
		words->nr++;
	}
	va_end(list);
}

static void add_filter_args(struct words *words, const struct export_args *args,
			    const struct view_capture *capture, const char *output)
{
	uint64_t spike = capture->spike_ns;
	uint64_t expected = capture->latency_ns < spike ? spike - capture->latency_ns : 0;

	add(words, "--dlarg");
	add(words, "output=%s", output);
	if (args->time) {
		add(words, "--dlarg");
		add(words, "time=%s", args->time);
	}
	add(words, "--dlarg");
	add(words, "axis=%s", axes[args->axis].name);
	if (args->tracks) {
		add(words, "--dlarg");
		add(words, "tracks=%s", tracks[args->tracks].name);
	}
	if (args->split_ns) {
		add(words, "--dlarg");
		add(words, "split=%" PRIu64 "ns", args->split_ns);
	}
	add(words, "--dlarg");
	add(words, "spike=%" PRIu64, spike);
	add(words, "--dlarg");
	add(words, "expected=%" PRIu64, capture->expected_ns ?: expected);
	if (capture->cpu >= 0) {
		add(words, "--dlarg");
		add(words, "spike-cpu=%d", capture->cpu);
	}
	if (!args->dry_run) {
		add(words, "--dlarg");
		add(words, "progress=%d", EXPORT_PROGRESS_FD);
	}
}

/* Up to its filter's arguments. `nr` is for what is to come. */
static int begin_words(struct words *words, const struct export_args *args, const char *perf,
		       const char *dlfilter, const char *data, size_t nr)
{
	_cleanup_free_ char *buildid_dir = NULL;

	if (script_buildid_dir(args->capture, &buildid_dir))
		return -ENOMEM;
	words->argv = calloc(MAX_WORDS + nr, sizeof(*words->argv));
	if (!words->argv)
		return -ENOMEM;
	add(words, "%s", perf);
	if (buildid_dir) {
		add(words, "--buildid-dir");
		add(words, "%s", buildid_dir);
	}
	add(words, "script");
	add(words, "-i");
	add(words, "%s", data);
	add(words, "--itrace=bei0ns");
	add(words, "--dlfilter");
	add(words, "%s", dlfilter);
	return 0;
}

static int end_words(struct words *words, char ***argv)
{
	if (words->r)
		view_free_argv(&words->argv);
	else
		*argv = words->argv;
	return words->r;
}

int export_argv(const struct export_args *args, const struct view_capture *capture,
		const char *perf, const char *dlfilter, const char *data, const char *output,
		char ***argv)
{
	struct words words = { 0 };
	size_t nr_rest = 0;

	while (args->rest && args->rest[nr_rest])
		nr_rest++;
	if (begin_words(&words, args, perf, dlfilter, data, nr_rest))
		return -ENOMEM;
	add_filter_args(&words, args, capture, output);
	for (size_t i = 0; i < nr_rest; i++)
		add(&words, "%s", args->rest[i]);
	return end_words(&words, argv);
}

int export_slice_argv(const struct export_args *args, const char *perf, const char *dlfilter,
		      const char *data, const char *events, const struct trace_slice *slice,
		      char ***argv)
{
	char from[32] = "", to[32] = "";
	struct words words = { 0 };

	if (begin_words(&words, args, perf, dlfilter, data, 0))
		return -ENOMEM;
	add(&words, "--dlarg");
	add(&words, "events=%s", events);
	if (slice->from)
		snprintf(from, sizeof(from), "%" PRIu64 ".%09" PRIu64, slice->from / NS_PER_S,
			 slice->from % NS_PER_S);
	if (slice->to < UINT64_MAX)
		snprintf(to, sizeof(to), "%" PRIu64 ".%09" PRIu64, slice->to / NS_PER_S,
			 slice->to % NS_PER_S);
	add(&words, "--time");
	add(&words, "%s,%s", from, to);
	return end_words(&words, argv);
}

/* The filter of this build, or of this installation: where it was put, or where that was moved. */
static int find_filter(char **ret)
{
	static const char *const folders[] = { "../dlfilter", DLFILTER_FROM_BIN };
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (length < 0)
		return -errno;
	self[length] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	for (size_t i = 0; i <= ARRAY_SIZE(folders); i++) {
		_cleanup_free_ char *path = NULL;
		int r = i < ARRAY_SIZE(folders) ? asprintf(&path, "%s/%s/" FILTER, self, folders[i])
						: asprintf(&path, "%s/" FILTER, DLFILTER_DIR);

		if (r < 0) {
			path = NULL;
			return -ENOMEM;
		}
		if (access(path, R_OK))
			continue;
		*ret = realpath(path, NULL);
		return *ret ? 0 : -errno;
	}
	return -ENOENT;
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
		 const struct export_result *result, int nr)
{
	if (result->errors)
		console_warn(con, "%s of decoding, the first: %s",
			     FORMAT_COUNT(result->errors, "error", "errors"), result->error ?: "?");
	if (args->quiet)
		return;
	console_info(con, "%s: %s%s%s", args->output,
		     FORMAT_COUNT(result->slices, "slice", "slices"), args->split_ns ? " in " : "",
		     args->split_ns ? FORMAT_COUNT(nr, "file", "files") : "");
	if (result->gaps)
		console_info(con, "%s in the trace", FORMAT_COUNT(result->gaps, "gap", "gaps"));
}

static void explain_failure(struct console *con, const struct export_args *args,
			    const struct export_result *result)
{
	if (result->complaint)
		console_error(con, "'%s' cannot be exported: %s", args->capture, result->complaint);
	else if (WIFSIGNALED(result->status))
		console_error(con, "'%s' cannot be exported: perf died of signal %d", args->capture,
			      WTERMSIG(result->status));
	else
		console_error(con,
			      "'%s' cannot be exported: perf failed with status %d, and did "
			      "not say why",
			      args->capture, WEXITSTATUS(result->status));
}

/* What perf alone would write, by as many as pay. */
struct export_way {
	const char *perf, *dlfilter, *data;
	const char *folder;
	char *const *argv; /* of perf alone */
};

static unsigned int choose_jobs(const struct export_args *args, uint64_t bytes)
{
	uint64_t nr = bytes / JOB_BYTES;
	cpu_set_t cpus;

	if (args->rest)
		return 1;
	if (args->jobs)
		return (unsigned int)args->jobs;
	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		return 1;
	return (unsigned int)(nr < (uint64_t)CPU_COUNT(&cpus) ? nr : (uint64_t)CPU_COUNT(&cpus));
}

/* They are put together in their order, and at the end of the last one nobody decodes any more: so
 * of the first ones each ends some time after that before, and the last ones become small. */
static int cut_slices(const char *file, uint64_t bytes, unsigned int nr_jobs,
		      struct trace_slice **slices, size_t *nr)
{
	static const double first[] = { 0.4, 1 }, last[] = { 0.7, 0.15 };
	_cleanup_free_ uint64_t *sizes = calloc((size_t)nr_jobs * JOB_SLICES, sizeof(*sizes));
	double all = nr_jobs * (first[0] + first[1] + last[0] + last[1]) / 2;

	if (!sizes)
		return -ENOMEM;
	for (unsigned int i = 0; i < nr_jobs; i++) {
		double along = (double)i / (nr_jobs - 1);

		sizes[i] = (uint64_t)((double)bytes / all *
				      (first[0] + along * (first[1] - first[0])));
		sizes[nr_jobs + i] =
			(uint64_t)((double)bytes / all * (last[0] + along * (last[1] - last[0])));
	}
	return trace_cut(file, sizes, (size_t)nr_jobs * JOB_SLICES, slices, nr);
}

/* -ESTALE: one perf has to do. */
static int run_slices(struct console *con, const struct export_args *args,
		      const struct export_way *way, struct export_result *result)
{
	struct export_jobs jobs = {
		.args = args,
		.perf = way->perf,
		.dlfilter = way->dlfilter,
		.data = way->data,
		.folder = way->folder,
		.argv = way->argv,
	};
	_cleanup_free_ struct trace_slice *slices = NULL;
	_cleanup_free_ char *file = NULL;
	uint64_t bytes;
	int r;

	if (asprintf(&file, "%s/data", way->data) < 0) {
		file = NULL;
		return -ENOMEM;
	}
	r = trace_size(file, &bytes);
	if (r)
		return r;
	jobs.nr_jobs = choose_jobs(args, bytes);
	if (jobs.nr_jobs < 2)
		return -ESTALE;
	r = cut_slices(file, bytes, jobs.nr_jobs, &slices, &jobs.nr_slices);
	if (r)
		return r;
	if (jobs.nr_slices < 2)
		return -ESTALE;
	jobs.slices = slices;
	r = export_jobs_run(con, &jobs, result);
	if (r == -ESTALE && !args->quiet)
		console_info(con,
			     "slices of the trace cannot be decoded apart: decoding it as one");
	return r;
}

static int run_perf(struct console *con, const struct export_args *args,
		    const struct view_capture *capture, const struct export_way *way,
		    struct export_result *result)
{
	int r = run_slices(con, args, way, result);

	if (r != -ESTALE)
		return r;
	export_result_release(result);
	return export_run(con, capture, way->argv, result);
}

static enum exit_code run_in(struct console *con, const struct export_args *args,
			     const struct view_capture *capture, const struct export_way *way)
{
	_cleanup_(export_result_release) struct export_result result = { 0 };
	int r = run_perf(con, args, capture, way, &result);

	if (r) {
		console_error(con, "'%s' cannot be exported: %s", args->capture, strerror(-r));
		return EXIT_FAILED;
	}
	if (result.interrupted) {
		console_error(con, "interrupted: nothing is written");
		return EXIT_FAILED;
	}
	if (!result.done) {
		explain_failure(con, args, &result);
		return EXIT_FAILED;
	}
	r = publish(way->folder, args);
	if (r < 0) {
		console_error(con, "--output '%s': %s", args->output, output_file_strerror(r));
		return EXIT_FAILED;
	}
	tell(con, args, &result, r);
	return EXIT_FINE;
}

/* What perf writes is put into a folder of its own, until it is complete. */
static enum exit_code write_output(struct console *con, const struct export_args *args,
				   const struct view_capture *capture, const char *perf,
				   const char *dlfilter, const char *data)
{
	const char *slash = strrchr(args->output, '/');
	_cleanup_(view_free_argv) char **argv = NULL;
	_cleanup_free_ char *folder = NULL;
	_cleanup_free_ char *output = NULL;
	enum exit_code code = EXIT_FAILED;
	struct ending ending;

	if (asprintf(&folder, "%s.XXXXXX", args->output) < 0) {
		folder = NULL;
		console_error(con, "%s", strerror(ENOMEM));
		return EXIT_FAILED;
	}
	ending_catch(&ending);
	if (!mkdtemp(folder)) {
		console_error(con, "--output '%s': %s", args->output, strerror(errno));
		ending_release(&ending);
		return EXIT_FAILED;
	}
	if (asprintf(&output, "%s/%s", folder, slash ? slash + 1 : args->output) < 0)
		output = NULL;
	if (!output || export_argv(args, capture, perf, dlfilter, data, output, &argv))
		console_error(con, "%s", strerror(ENOMEM));
	else
		code = run_in(con, args, capture,
			      &(struct export_way){
				      .perf = perf,
				      .dlfilter = dlfilter,
				      .data = data,
				      .folder = folder,
				      .argv = argv,
			      });
	tree_remove(AT_FDCWD, folder);
	ending_release(&ending);
	return code;
}

int export_find_tools(struct console *con, struct perf_tool *perf, char **dlfilter)
{
	_cleanup_free_ char *why = NULL;
	int r;

	r = perf_tool_find(perf, &why);
	if (r) {
		console_error(con, "%s", why ?: strerror(-r));
		return r;
	}
	r = find_filter(dlfilter);
	if (r == -ENOENT)
		console_error(con, "there is no " FILTER " in " DLFILTER_DIR ": build perf-poke "
				   "with zlib and perf's perf_dlfilter.h (Debian: zlib1g-dev, "
				   "linux-perf), and install it");
	else if (r)
		console_error(con, FILTER ": %s", strerror(-r));
	return r;
}

static enum exit_code export_capture(struct console *con, const struct export_args *args,
				     const struct view_capture *capture, const char *data)
{
	_cleanup_(perf_tool_release) struct perf_tool perf = { 0 };
	_cleanup_(view_free_argv) char **argv = NULL;
	_cleanup_free_ char *dlfilter = NULL;
	int r;

	if (export_find_tools(con, &perf, &dlfilter))
		return EXIT_FAILED;
	if (!args->dry_run)
		return write_output(con, args, capture, perf.path, dlfilter, data);
	r = export_argv(args, capture, perf.path, dlfilter, data, args->output, &argv);
	if (r) {
		console_error(con, "%s", strerror(-r));
		return EXIT_FAILED;
	}
	return script_print_words(con, argv);
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
	if (!args.force && !args.dry_run && output_file_exists(args.output ?: args.html)) {
		console_error(con, "--%s '%s': %s", args.output ? "output" : "html",
			      args.output ?: args.html, output_file_strerror(-EEXIST));
		return EXIT_FAILED;
	}
	if (newest_choose(con, args.capture, &folder))
		return EXIT_FAILED;
	args.capture = folder;
	if (script_read_trace(con, args.capture, &capture, &data))
		return EXIT_FAILED;
	if ((!args.axis || args.time) && script_lacks_times(con, args.capture, &capture.view))
		return EXIT_USAGE;
	if (args.html)
		return export_html(con, &args, &capture.view);
	if (capture.view.kind != VIEW_PT) {
		console_error(con, "'%s' has events, not Intel PT: see them with script",
			      args.capture);
		return EXIT_USAGE;
	}
	return export_capture(con, &args, &capture.view, data);
}

const struct command command_export = {
	.name = "export",
	.summary = "Write a capture's Intel PT as a file for ui.perfetto.dev.",
	.arguments = "[CAPTURE] -o FILE|--html FILE [OPTIONS] [-- ARGS]",
	.notes = notes,
	.options = options,
	.nr_options = ARRAY_SIZE(options),
	.run = run,
};
