// SPDX-License-Identifier: GPL-2.0-only
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "array.h"
#include "cli/cli.h"
#include "commands/commands.h"
#include "io.h"
#include "selftest/selftest.h"
#include "session/session.h"
#include "text.h"

/* Well above normal latencies, and short enough for an AUX sample. */
#define THRESHOLD_NS 5000000
/* Delays timers with a period of 1 ms by more than the threshold. */
#define SPIN_NS(threshold_ns) ((threshold_ns) / 5 * 8)
/* Small enough to be filled and decoded quickly: of functions or Intel PT, and of events. */
#define TRACE_BUFFER (UINT64_C(4) << 20)
#define EVENTS_BUFFER (UINT64_C(1) << 20)
#define CPU_ANY UINT64_MAX

struct selftest_args {
	uint64_t cpu;
	enum perf_poke_recorder recorder; /* AUTO means all, also below */
	enum perf_poke_freeze freeze;
	enum perf_poke_delivery delivery;
	uint64_t threshold_ns;
	uint64_t buffer_size; /* 0: default of the recorder */
	const char *keep, *output;
	bool force, json;
};

#define TARGET(member) .offset = offsetof(struct selftest_args, member)

static const struct option_spec options[] = {
	{ "cpu", 'c', OPTION_COUNT, .max = 8191, TARGET(cpu), .metavar = "N",
	  .help = "CPU whose timers are delayed (the last allowed one)" },
	{ "recorder", 0, OPTION_ENUM, OPTIONS_AXIS(RECORDER), TARGET(recorder), .metavar = "NAME",
	  .help = "events, ftrace, pt; auto: events and pt (auto)" },
	{ "freeze", 0, OPTION_ENUM, OPTIONS_AXIS(FREEZE), TARGET(freeze), .metavar = "HOW",
	  .help = "freeze of pt or ftrace; auto: all that are supported (auto)" },
	{ "delivery", 0, OPTION_ENUM, OPTIONS_AXIS(DELIVERY), TARGET(delivery), .metavar = "HOW",
	  .help = "auto: all that are supported (auto)" },
	{ "threshold", 0, OPTION_TIME, .min = THRESHOLD_NS / 2, .max = THRESHOLD_NS * 10,
	  TARGET(threshold_ns), .metavar = "TIME",
	  .help = "threshold, above the latencies of this machine (5ms)" },
	{ "buffer", 0, OPTION_SIZE, .min = 4096, .max = UINT64_C(64) << 20, TARGET(buffer_size),
	  .metavar = "SIZE", .help = "ring size (events 1M, ftrace and pt 4M)" },
	{ "keep", 0, OPTION_STRING, TARGET(keep), .metavar = "DIR",
	  .help = "keep the captures in this folder (removed)" },
	{ "output", 'o', OPTION_STRING, TARGET(output), .metavar = "FILE",
	  .help = "write an archive for a bug report even if nothing failed\n"
		  "(" LAYOUT_SELFTEST "-TIME.tar.zst after a failure)" },
	{ "force", 'f', OPTION_FLAG, TARGET(force), .help = OUTPUT_FORCE_HELP },
	{ "json", 0, OPTION_FLAG, TARGET(json), .help = "print JSON, see perf-poke-capture(5)" },
};

static const char notes[] =
	"Needs root, two CPUs and Linux 5.17. A BPF program delays the timers of a CPU by 1.6\n"
	"times the threshold, twice for each supported combination of recorder, freeze and\n"
	"delivery. Columns:\n"
	"  captured  the delayed timer was captured, and no capture failed\n"
	"  culprit   report names the cause\n"
	"  perf      stock perf, if installed, names the cause in the first capture\n"
	"  history   the trace fills its ring, or begins when the session was armed\n"
	"  end       the trace reaches the spike and ends within the skid\n"
	"  skid      the trace stopped within 200 ms; pause, sample: with at most\n"
	"            50,000 instructions after the spike\n"
	"  re-armed  the second trace begins after the first spike\n"
	"  signal    the target received one signal for each spike\n"
	"  clean     no pin, descriptor, tracefs instance, thread, process or file is left\n"
	"A - means not checked.\n"
	"\n"
	"The archive has a capture of each recorder and freeze that failed (with --output: of\n"
	"all), their raw rings, the results and messages, and facts of this machine.\n"
	"\n"
	"Exit codes: 0 all checks passed, 1 a check failed or nothing could be tested,\n"
	"2 usage.\n";

/* Results of `check`. */
struct capabilities {
	struct console *lines;
	char have[512]; /* names, each between spaces */
	char why_no_pt[256];
	char missing[512]; /* first missing requirement, or empty */
};

struct selftest {
	struct console *con;
	struct console lines, messages; /* for the archive */
	const struct selftest_args *args;
	struct capabilities has;
	struct perf_tool perf;
	struct selftest_run run;
	struct bundle bundle;
	unsigned int bundled; /* a bit for each way to freeze with a capture; for events, AUTO */
	size_t nr_rows, nr_wrong;
};

static void add_selftest_capability(void *ctx, const struct perf_poke_capability *capability)
{
	struct capabilities *has = ctx;
	size_t length = strlen(has->have);

	json_print_line(has->lines, json_capability_line(capability));
	if (capability->have)
		snprintf(has->have + length, sizeof(has->have) - length, " %s ", capability->name);
	else if (!strcmp(capability->name, "intel_pt"))
		snprintf(has->why_no_pt, sizeof(has->why_no_pt), "%s", capability->detail);
	else if (capability->required && !*has->missing)
		snprintf(has->missing, sizeof(has->missing), "%s; %s", capability->detail,
			 capability->remedy);
}

static bool has_capability(const struct selftest *s, const char *prefix, const char *name)
{
	char word[64];

	snprintf(word, sizeof(word), " %s%s ", prefix, name);
	for (char *dash = strchr(word, '-'); dash; dash = strchr(dash, '-'))
		*dash = '_';
	return strstr(s->has.have, word);
}

static int find_needed_capabilities(struct selftest *s)
{
	s->has.lines = &s->lines;
	if (!perf_poke__check(add_selftest_capability, &s->has))
		return 0;
	console_error(s->con, "selftest: %s", s->has.missing);
	return -EPERM;
}

static int choose_selftest_cpu(struct selftest *s)
{
	cpu_set_t set;
	int last = -1;

	if (sched_getaffinity(0, sizeof(set), &set) || CPU_COUNT(&set) < 2) {
		console_error(s->con, "selftest: needs two CPUs");
		return -ENXIO;
	}
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		last = CPU_ISSET(cpu, &set) ? cpu : last;
	s->run.cpu = s->args->cpu == CPU_ANY ? last : (int)s->args->cpu;
	if (s->run.cpu < CPU_SETSIZE && CPU_ISSET(s->run.cpu, &set))
		return 0;
	console_error(s->con, "--cpu '%d': not online, or not allowed", s->run.cpu);
	return -ENXIO;
}

/* Fail before the work. */
static int try_output_file(struct console *con, const char *path, bool force)
{
	struct output_file file;
	int err = output_file_open(&file, path, force);

	output_file_close(&file);
	if (err)
		console_error(con, "--output '%s': %s", path, output_file_strerror(err));
	return err;
}

static int make_keep_folder(struct console *con, const char *path)
{
	if (!mkdir(path, 0777) || errno == EEXIST)
		return 0;
	console_error(con, "--keep '%s': %s", path, strerror(errno));
	return -EIO;
}

/* Whether the archive takes the captures of a row: one row for each freeze. */
static bool is_row_bundled(struct selftest *s, const struct row *row)
{
	if (s->bundled & 1U << row->freeze || (row_passed_checks(row) && !s->args->output))
		return false;
	s->bundled |= 1U << row->freeze;
	return true;
}

static void keep_row_captures(struct selftest *s, struct row *row)
{
	bool bundled = row->nr && is_row_bundled(s, row);

	for (size_t i = 0; i < row->nr; i++) {
		char **path = &row->captures[i].path;

		if (bundled && !array_grow(&s->bundle.captures, s->bundle.nr, sizeof(*path)))
			s->bundle.captures[s->bundle.nr++] = TAKE_PTR(*path);
		else if (!s->args->keep)
			tree_remove(AT_FDCWD, *path);
	}
}

static void print_selftest_row(struct selftest *s, const struct row *row)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *file;

	json_print_line(&s->lines, row_json_object(row));
	if (s->con->json) {
		json_print_line(s->con, row_json_object(row));
		return;
	}
	if (s->nr_rows == 1)
		row_print_header(s->con->out);
	file = open_memstream(&text, &size);
	if (!file)
		return;
	row_print_result(file, row);
	if (!fclose(file))
		console_result(s->con, text);
}

static bool is_choice_wanted(int wanted, const struct perf_poke_choice *choice)
{
	return choice->value && (!wanted || wanted == choice->value);
}

static void try_each_delivery(struct selftest *s, const struct perf_poke_choice *recorder,
			      const struct perf_poke_choice *freeze)
{
	bool freezes = recorder->value != PERF_POKE_RECORDER_EVENTS;
	const struct perf_poke_choice *delivery;

	for (size_t i = 0; (delivery = perf_poke__choice(PERF_POKE_AXIS_DELIVERY, i)); i++) {
		_cleanup_(row_release_all) struct row row = {
			.recorder = (enum perf_poke_recorder)recorder->value,
			.freeze = (enum perf_poke_freeze)freeze->value,
			.delivery = (enum perf_poke_delivery)delivery->value,
			.buffer_size = s->args->buffer_size
					       ?: freezes ? TRACE_BUFFER
							  : EVENTS_BUFFER,
			.names = { recorder->name, freezes ? freeze->name : "-", delivery->name },
		};

		if (signals_asked_end || !is_choice_wanted(s->args->delivery, delivery) ||
		    (delivery->value != PERF_POKE_DELIVERY_RELAY &&
		     !has_capability(s, "", delivery->name)))
			continue;
		fprintf(s->messages.err, "%s %s %s\n", row.names[0], row.names[1], row.names[2]);
		selftest_run_row(&s->run, &row);
		/* Discard an interrupted row. */
		if (signals_asked_end)
			return;
		row_judge_checks(&row);
		s->nr_rows++;
		s->nr_wrong += !row_passed_checks(&row);
		print_selftest_row(s, &row);
		keep_row_captures(s, &row);
	}
}

/* Each way to freeze that this CPU and kernel support. */
static void try_each_freeze(struct selftest *s, const struct perf_poke_choice *recorder)
{
	bool pt = recorder->value == PERF_POKE_RECORDER_PT;
	const struct perf_poke_choice *freeze;

	if (!has_capability(s, "", pt ? "intel_pt" : recorder->name))
		return;
	for (size_t i = 0; (freeze = perf_poke__choice(PERF_POKE_AXIS_FREEZE, i)); i++) {
		if (is_choice_wanted(s->args->freeze, freeze) &&
		    ((pt && freeze->value == PERF_POKE_FREEZE_SIGNAL) ||
		     has_capability(s, pt ? "aux_" : "ftrace_", freeze->name)))
			try_each_delivery(s, recorder, freeze);
	}
}

static void try_combinations(struct selftest *s)
{
	const struct perf_poke_choice *recorder;

	for (size_t i = 0; (recorder = perf_poke__choice(PERF_POKE_AXIS_RECORDER, i)); i++) {
		if (!is_choice_wanted(s->args->recorder, recorder))
			continue;
		/* Functions are traced only if asked for: that slows down all CPUs. */
		if (recorder->value == PERF_POKE_RECORDER_PT ||
		    s->args->recorder == PERF_POKE_RECORDER_FTRACE)
			try_each_freeze(s, recorder);
		else if (recorder->value == PERF_POKE_RECORDER_EVENTS && !s->args->freeze)
			try_each_delivery(s, recorder, perf_poke__choice(PERF_POKE_AXIS_FREEZE, 0));
	}
}

static json_object *new_result_line(const struct selftest *s, const char *archive)
{
	json_object *object = json_typed_object("selftest");

	json_add_bool(object, "ok", s->nr_rows && !s->nr_wrong);
	json_add_bool(object, "intel_pt", has_capability(s, "", "intel_pt"));
	json_add_name(object, "intel_pt_detail", s->has.why_no_pt);
	json_add_name(object, "perf", s->perf.version);
	json_add_name(object, "archive", archive);
	return object;
}

static void print_selftest_result(const struct selftest *s, const char *archive)
{
	FILE *out = s->con->out;

	if (s->con->json) {
		json_print_line(s->con, new_result_line(s, archive));
		return;
	}
	fprintf(out, "\n%s: %zu of %zu combinations failed\n",
		s->run.perf ? s->perf.version : "no perf", s->nr_wrong, s->nr_rows);
	if (!has_capability(s, "", "intel_pt"))
		fprintf(out, "Intel PT was not tested: %s\n", s->has.why_no_pt);
	if (archive)
		fprintf(out,
			"%s: attach this to a bug report. It contains kernel traces of this "
			"machine and names of tasks.\n",
			archive);
}

static enum exit_code finish_selftest(struct selftest *s)
{
	const char *archive = NULL;
	time_t now = time(NULL);
	char name[64];
	struct tm tm;

	if (signals_asked_end) {
		console_error(s->con, "interrupted");
		return EXIT_FAILED;
	}
	if (!s->nr_rows) {
		console_error(s->con, "selftest: nothing to test%s%s",
			      *s->has.why_no_pt ? ": " : "", s->has.why_no_pt);
		return EXIT_FAILED;
	}
	/* After a failure, or if requested. */
	if (s->nr_wrong || s->args->output) {
		gmtime_r(&now, &tm);
		strftime(name, sizeof(name), LAYOUT_SELFTEST "-%Y%m%d-%H%M%S.tar.zst", &tm);
		archive = s->args->output ?: name;
		json_print_line(&s->lines, new_result_line(s, archive));
		fflush(s->messages.err);
		if (bundle_write_archive(&s->bundle, s->con, archive, s->args->force))
			return EXIT_FAILED;
	}
	print_selftest_result(s, archive);
	return s->nr_wrong ? EXIT_FAILED : EXIT_FINE;
}

/* Fails before the work if it can. */
static enum exit_code run_all_combinations(struct selftest *s)
{
	_cleanup_free_ char *folder = strfmt("%s/perf-poke.XXXXXX", getenv("TMPDIR") ?: "/tmp");
	_cleanup_free_ char *why = NULL;
	enum exit_code code = EXIT_FAILED;
	struct signals_old ending;
	int err;

	if (find_needed_capabilities(s) || choose_selftest_cpu(s) ||
	    (s->args->output && try_output_file(s->con, s->args->output, s->args->force)) ||
	    (s->args->keep && make_keep_folder(s->con, s->args->keep)))
		return EXIT_FAILED;
	if (!perf_tool_find(&s->perf, &why))
		s->run.perf = &s->perf;
	signals_catch_ending(&ending);
	if (!folder || !mkdtemp(folder)) {
		console_error(s->con, "cannot create a temporary folder: %s (set TMPDIR)",
			      strerror(errno));
		signals_restore_old(&ending);
		return EXIT_FAILED;
	}
	s->run.con = &s->messages;
	s->run.threshold_ns = s->args->threshold_ns;
	s->run.output = s->args->keep ?: folder;
	err = load_open_program(&s->run.load, s->run.cpu, SPIN_NS(s->args->threshold_ns));
	if (err) {
		console_error(s->con,
			      "selftest: cannot load the test program: %s (needs Linux 5.17)",
			      strerror(-err));
	} else {
		try_combinations(s);
		code = finish_selftest(s);
	}
	load_close_program(&s->run.load);
	tree_remove(AT_FDCWD, folder);
	signals_restore_old(&ending);
	return code;
}

static enum exit_code run_selftest(struct console *con, int argc, char **argv)
{
	_cleanup_free_ char *lines = NULL;
	_cleanup_free_ char *messages = NULL;
	struct selftest_args args = { .cpu = CPU_ANY, .threshold_ns = THRESHOLD_NS };
	struct selftest s = { .con = con, .args = &args };
	enum exit_code code = EXIT_FAILED;
	size_t size[2];
	int err;

	err = command_options(&command_selftest, con, argc, argv, &args);
	if (err)
		return command_options_exit(err);
	if (!recorder_has_trace(args.recorder)) {
		console_error(con, "--recorder '%s': nothing to test (use events, ftrace, pt)",
			      perf_poke__name(PERF_POKE_AXIS_RECORDER, args.recorder));
		return EXIT_USAGE;
	}
	console_use_json(con, args.json);
	s.lines.out = open_memstream(&lines, &size[0]);
	s.messages.err = s.messages.out = open_memstream(&messages, &size[1]);
	s.messages.verbose = true;
	s.bundle.lines = &lines;
	s.bundle.messages = &messages;
	if (s.lines.out && s.messages.err)
		code = run_all_combinations(&s);
	for (size_t i = 0; i < s.bundle.nr; i++)
		free(s.bundle.captures[i]);
	free(s.bundle.captures);
	perf_tool_release(&s.perf);
	fclosep(&s.lines.out);
	fclosep(&s.messages.err);
	return code;
}

const struct command command_selftest = {
	.name = "selftest",
	.summary = "Test perf-poke on this machine by delaying timers.",
	.arguments = "[OPTIONS]",
	.example = "perf-poke-ctl selftest",
	.notes = notes,
	COMMAND_OPTIONS(options),
	.run = run_selftest,
};
