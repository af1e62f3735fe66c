// SPDX-License-Identifier: GPL-2.0-only
#include "commands/commands.h"

#include <string.h>
#include <time.h>

#include "array.h"
#include "clock.h"
#include "cpulist.h"
#include "io.h"
#include "json_util.h"
#include "session/session.h"
#include "task.h"
#include "text.h"
#include "units.h"

#define TARGET(member) .offset = offsetof(struct list_args, member)

static int list_parse_since_option(void *target, const char *value, char **why);

#define SENTENCE_MAX 4096

static const struct perf_poke_choice orders[] = {
	{ "time", LIST_BY_TIME, NULL },
	{ "latency", LIST_BY_LATENCY, NULL },
	{ "cpu", LIST_BY_CPU, NULL },
	{ "size", LIST_BY_SIZE, NULL },
};

static const struct option_spec options[] = {
	{ NULL, 0, OPTION_WORD, TARGET(folder), .metavar = "DIR",
	  .help = "folder of captures (" FOLDER_DEFAULT "), or one capture" },
	{ "sort", 's', OPTION_ENUM, .choices = orders, .nr_choices = ARRAY_SIZE(orders),
	  TARGET(order), .metavar = "KEY",
	  .help = "time (default), latency, cpu or size; ascending" },
	{ "cpu", 'c', OPTION_CPUS, TARGET(cpus), .metavar = "LIST",
	  .help = "only these CPUs, such as 3 or 2,4-7" },
	{ "min-latency", 'm', OPTION_TIME, .max = 8760 * NSEC_PER_HOUR, TARGET(min_latency_ns),
	  .metavar = "TIME", .help = "only latencies of at least this" },
	{ "since", 0, OPTION_PARSED, .parse = list_parse_since_option, .metavar = "WHEN",
	  .help = "only captures since 2026-11-21, '2026-11-21 07:01', or\n2h ago" },
	{ "why", 'w', OPTION_FLAG, TARGET(why),
	  .help = "add the cause that report names; decodes each capture,\nwhich may take a "
		  "while" },
	{ "symfs", 0, OPTION_STRING, TARGET(symfs), .metavar = "DIR",
	  .help = "with --why, " DECODING_SYMFS_HELP },
	{ "max-size", 0, OPTION_SIZE, READER_MAX_SIZE, TARGET(max_size),
	  .help = "with --why, limit of memory (2G)" },
	{ "json", 0, OPTION_FLAG, TARGET(json), .help = "print JSON, see perf-poke-capture(5)" },
};

static const char notes[] =
	"Unreadable captures are reported on stderr; the others are listed.\n" OPTIONS_TIMES ".\n"
	"\n"
	"Exit codes: 0 fine (also without captures), 1 the folder or a capture is unreadable,\n"
	"2 usage.\n";

int list_parse_since(const char *text, uint64_t now_ns, uint64_t *since_ns)
{
	static const char *const formats[] = { "%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S",
					       "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S" };
	size_t length = strlen(text);
	uint64_t ago_ns;

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		struct tm tm = { .tm_isdst = -1 };
		const char *end = strptime(text, formats[i], &tm);
		time_t seconds;

		if (!end || *end)
			continue;
		seconds = mktime(&tm);
		if (seconds < 0)
			return -EINVAL;
		*since_ns = (uint64_t)seconds * NSEC_PER_SEC;
		return 0;
	}
	/* Reject a bare number, which would mean microseconds. */
	if (!length || text[length - 1] < 'a' || units_parse_time(text, &ago_ns))
		return -EINVAL;
	*since_ns = ago_ns < now_ns ? now_ns - ago_ns : 0;
	return 0;
}

static int list_parse_since_option(void *target, const char *value, char **why)
{
	struct list_args *args = target;

	if (!list_parse_since(value, clock_ns(CLOCK_REALTIME), &args->since_ns))
		return 0;
	return say_why(why, -EINVAL,
		       "not a time (use 2026-11-21, '2026-11-21 07:01', or 2h for two "
		       "hours ago)");
}

int list_parse_args(struct list_args *args, struct console *con, int argc, char **argv)
{
	*args = (struct list_args){ .folder = FOLDER_DEFAULT };
	return command_options(&command_list, con, argc, argv, args);
}

bool list_wants_capture(const struct list_args *args, const int *cpus, size_t nr_cpus,
			const struct perf_poke_capture *capture)
{
	bool wanted = !args->cpus;

	for (size_t i = 0; i < nr_cpus && !wanted; i++)
		wanted = cpus[i] == capture->spike->cpu;
	return wanted && capture->spike->latency_ns >= args->min_latency_ns &&
	       capture->wall_ns >= args->since_ns;
}

static int compare_u64_values(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_list_entries(const void *a, const void *b, void *order)
{
	const struct list_entry *one = a, *other = b;
	int err = 0;

	switch (*(enum list_order *)order) {
	case LIST_BY_TIME:
		break;
	case LIST_BY_LATENCY:
		err = compare_u64_values(one->capture->spike->latency_ns,
					 other->capture->spike->latency_ns);
		break;
	case LIST_BY_CPU:
		err = compare_u64_values((uint64_t)one->capture->spike->cpu + 1,
					 (uint64_t)other->capture->spike->cpu + 1);
		break;
	case LIST_BY_SIZE:
		err = compare_u64_values(one->size, other->size);
		break;
	}
	if (!err)
		err = compare_u64_values(one->capture->wall_ns, other->capture->wall_ns);
	return err ? err : strcmp(one->capture->path, other->capture->path);
}

void list_sort_entries(struct list_entry *entries, size_t nr, enum list_order order)
{
	if (nr)
		qsort_r(entries, nr, sizeof(*entries), compare_list_entries, &order);
}

struct list {
	struct console *con;
	const struct list_args *args;
	int *cpus;
	size_t nr_cpus;
	struct list_entry *entries;
	size_t nr;
	size_t found; /* including broken and unselected ones */
	bool failed, out_of_memory;
};

static void list_release(struct list *list)
{
	for (size_t i = 0; i < list->nr; i++) {
		perf_poke__capture_close(list->entries[i].capture);
		verdict_release(&list->entries[i].verdict);
	}
	free(list->entries);
	free(list->cpus);
}

static int list_add_entry(struct list *list, const struct list_entry *entry)
{
	if (array_grow(&list->entries, list->nr, sizeof(*entry)))
		return -ENOMEM;
	list->entries[list->nr++] = *entry;
	return 0;
}

/* Reports an unreadable capture and continues. */
static void list_print_unreadable(struct list *list, const char *why)
{
	console_error(list->con, "%s", why);
	list->failed = true;
}

/* Takes capture. */
static void list_add_capture(struct list *list, const struct perf_poke_capture *capture)
{
	_cleanup_close_ int fd = open(capture->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct list_entry entry = { .capture = capture };

	enum perf_poke_recorder recorder = capture_recorder_kind(capture->recorder);
	const char *trace = recorder == PERF_POKE_RECORDER_FTRACE ? "trace.dat" : "perf.data";

	if (recorder_has_trace(recorder) && faccessat(fd, trace, F_OK, 0)) {
		_cleanup_free_ char *why = strfmt("%s: no %s in it", capture->path, trace);

		list_print_unreadable(list, why ?: strerror(ENOMEM));
	} else if (list_wants_capture(list->args, list->cpus, list->nr_cpus, capture)) {
		entry.size = tree_size(fd, ".").share;
		list->out_of_memory |= verdict_read_kept(&entry.verdict, capture->path) == -ENOMEM;
		list->out_of_memory |= list_add_entry(list, &entry) != 0;
		capture = NULL;
	}
	perf_poke__capture_close(capture);
}

static void list_open_capture(void *ctx, const char *path)
{
	const struct perf_poke_capture *capture;
	struct list *list = ctx;
	int err = perf_poke__capture_open(&capture, path);

	list->found++;
	if (err)
		list_print_unreadable(list, perf_poke__last_error());
	else
		list_add_capture(list, capture);
}

/* Local time, as in the folder's name. */
static void format_local_time(char *text, size_t size, uint64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / NSEC_PER_SEC);
	struct tm tm;
	size_t length;

	if (!wall_ns || !localtime_r(&seconds, &tm)) {
		snprintf(text, size, "-");
		return;
	}
	length = strftime(text, size, "%Y-%m-%d %H:%M:%S", &tm);
	snprintf(text + length, size - length, ".%03u",
		 (unsigned int)(wall_ns % NSEC_PER_SEC / 1000000));
}

static void print_list_entry(FILE *out, const struct list_entry *entry, bool why)
{
	const struct perf_poke_capture *capture = entry->capture;
	const struct perf_poke_spike *spike = capture->spike;
	char when[64], task[96] = "-", cpu[16] = "-";

	format_local_time(when, sizeof(when), capture->wall_ns);
	if (spike->idle || *spike->comm)
		task_format_name(task, sizeof(task), spike->idle, CLEAN(spike->comm), spike->tid,
				 spike->tid);
	if (spike->cpu >= 0)
		snprintf(cpu, sizeof(cpu), "%d", spike->cpu);
	fprintf(out, "%-23s %4s %8s  %-20s %-8s %8s  %s\n", when, cpu,
		spike->poked ? "poked" : FORMAT_TIME(spike->latency_ns), task,
		CLEAN(capture->recorder), FORMAT_SIZE(entry->size),
		CLEAN_TO(PATH_MAX, capture->path));
	if (entry->verdict.json && entry->verdict.fingerprint.kind[0])
		fprintf(out, "  %s\n",
			CLEAN_TO(FINGERPRINT_ID_SIZE, entry->verdict.fingerprint.id));
	if (entry->verdict.json && why)
		fprintf(out, "  %s\n", CLEAN_TO(SENTENCE_MAX, verdict_sentence(&entry->verdict)));
}

/* Failures are reported like unreadable captures. */
static void list_find_causes(struct list *list)
{
	struct hooks_count count = { 0 };
	struct analysis_hooks hooks;

	reader_hooks(list->con, &hooks);
	hooks.symfs = list->args->symfs;
	for (size_t i = 0; i < list->nr; i++) {
		struct list_entry *entry = &list->entries[i];
		_cleanup_free_ char *why = NULL;
		int err;

		hooks_count_capture(&hooks, &count, list->nr);
		err = entry->verdict.json ? 0
					  : verdict_load_capture(&entry->verdict, &hooks,
								 entry->capture->path, &why);

		if (err && why)
			console_error(list->con, "%s", why);
		list->failed |= err != 0;
	}
	console_clear_status(list->con);
}

/* Fields of the capture line of `start`, and more. */
static json_object *new_capture_line(const struct list_entry *entry, bool why)
{
	static const char *const fields[] = {
		"path",	   "recorder",	 "wall_time_ns", "sequence",   "poked",		"cpu",
		"time_ns", "latency_ns", "expected_ns",	 "actual_ns",  "function_name", "idle",
		"pid",	   "tid",	 "comm",	 "history_ns", "kernel",	"hostname",
		"trigger", "label",	 "irq_ns",
	};
	static const char *const reasons[] = { "sentence", "cause" };
	_cleanup_json_ json_object *all = json_capture_line(entry->capture);
	json_object *object = json_typed_object("capture");

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		json_add(object, fields[i],
			 json_object_get(json_object_object_get(all, fields[i])));
	/* Of all its files. */
	json_add_u64(object, "size_bytes", entry->size);
	json_add_name(object, "fingerprint", entry->verdict.fingerprint.id);
	for (size_t i = 0; why && i < ARRAY_SIZE(reasons); i++)
		json_add(object, reasons[i],
			 json_object_get(json_find_value(entry->verdict.json, reasons[i])));
	return object;
}

static void print_list(struct list *list)
{
	struct console *con = list->con;

	if (con->json) {
		for (size_t i = 0; i < list->nr; i++)
			json_print_line(con, new_capture_line(&list->entries[i], list->args->why));
		return;
	}
	if (!list->nr && !list->failed)
		fprintf(con->out, "no %scapture in %s\n", list->found ? "matching " : "",
			CLEAN(list->args->folder));
	if (list->nr)
		fprintf(con->out, "%-23s %4s %8s  %-20s %-8s %8s  %s\n", "TIME", "CPU", "LATENCY",
			"INTERRUPTED", "RECORDER", "SIZE", "CAPTURE");
	for (size_t i = 0; i < list->nr; i++)
		print_list_entry(con->out, &list->entries[i], list->args->why);
}

static enum exit_code run_list(struct console *con, int argc, char **argv)
{
	struct list_args args;
	_cleanup_(list_release) struct list list = { .con = con, .args = &args };
	int err;

	err = list_parse_args(&args, con, argc, argv);
	if (err)
		return command_options_exit(err);
	console_use_json(con, args.json);
	if (reader_begin(con, args.max_size, ""))
		return EXIT_FAILED;
	if (args.cpus)
		err = cpulist_parse(args.cpus, &list.cpus, &list.nr_cpus);
	if (!err)
		err = perf_poke__captures(args.folder, list_open_capture, &list);
	if (list.out_of_memory)
		err = -ENOMEM;
	if (err < 0) {
		console_error(con, "'%s': %s", args.folder, strerror(-err));
		return EXIT_FAILED;
	}
	list_sort_entries(list.entries, list.nr, args.order);
	if (args.why)
		list_find_causes(&list);
	print_list(&list);
	return list.failed ? EXIT_FAILED : EXIT_FINE;
}

const struct command command_list = {
	.name = "list",
	.summary = "List captures: time, CPU, latency, interrupted task, and cause.",
	.arguments = "[OPTIONS] [DIR]",
	.example = "perf-poke-ctl list --why --sort latency",
	.notes = notes,
	COMMAND_OPTIONS(options),
	.folds = true,
	.run = run_list,
};
