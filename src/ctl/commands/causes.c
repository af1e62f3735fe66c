// SPDX-License-Identifier: GPL-2.0-only
#include "causes/causes.h"

#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <string.h>
#include <time.h>

#include "array.h"
#include "causes_files.h"
#include "clock.h"
#include "commands/commands.h"
#include "cpulist.h"
#include "json_util.h"
#include "output/output.h"
#include "text.h"
#include "units.h"

#define HOSTS_SHOWN 3
#define SENTENCE_MAX 4096

struct causes_args {
	const char **paths; /* to be freed */
	size_t nr_paths;
	const char *symfs; /* or NULL */
	uint64_t max_size; /* 0: default */
	uint64_t worse_percent;
	const char *known; /* or NULL */
	const char *save;  /* or NULL */
	const char *html;  /* or NULL */
	bool force;
	bool json;
};

#define TARGET(member) .offset = offsetof(struct causes_args, member)

static int add_causes_path(void *target, const char *value, char **why)
{
	struct causes_args *args = target;

	if (array_grow(&args->paths, args->nr_paths, sizeof(*args->paths)))
		return -ENOMEM;
	args->paths[args->nr_paths++] = value;
	return 0;
}

static const struct option_spec options[] = {
	{ NULL, 0, OPTION_WORD, .repeatable = true, .parse = add_causes_path,
	  .metavar = "DIR|ARCHIVE",
	  .help = "folder with captures at any depth (" FOLDER_DEFAULT "), a\n"
		  "capture, or an archive" },
	{ "known", 'k', OPTION_STRING, TARGET(known), .metavar = "FILE",
	  .help = "compare with the causes of this file" },
	{ "worse", 0, OPTION_COUNT, .max = 1000000, TARGET(worse_percent), .metavar = "PERCENT",
	  .help = "report a known cause that exceeds its worst by this (25)" },
	{ "save", 0, OPTION_STRING, TARGET(save), .metavar = "FILE",
	  .help = "write a file for --known; with --known, keep that file's\n"
		  "comments, dates and unseen causes" },
	{ "html", 0, OPTION_STRING, TARGET(html), .metavar = "FILE",
	  .help = "write an offline page with a chart over time" },
	{ "symfs", 0, OPTION_STRING, TARGET(symfs), .metavar = "DIR", .help = DECODING_SYMFS_HELP },
	{ "max-size", 0, OPTION_SIZE, READER_MAX_SIZE, TARGET(max_size),
	  .help = READER_MAX_SIZE_HELP },
	{ "force", 'f', OPTION_FLAG, TARGET(force), .help = OUTPUT_FORCE_HELP },
	{ "json", 0, OPTION_FLAG, TARGET(json), .help = "print JSON, see perf-poke-capture(5)" },
};

static const char notes[] =
	"Each capture is decoded once: its cause is kept in ~/.cache/perf-poke.\n"
	"\n"
	"Exit codes: 0 fine (with --known: nothing new), 1 failed, or a capture is unreadable,\n"
	"2 usage, 3 no capture of a spike, 4 a new cause, or a known one that got worse.\n";

static int causes_parse(struct causes_args *args, struct console *con, int argc, char **argv)
{
	static const char *const folder[] = { FOLDER_DEFAULT };
	int err;

	*args = (struct causes_args){ .worse_percent = UINT64_MAX };
	err = command_options(&command_causes, con, argc, argv, args);
	if (!err && args->worse_percent != UINT64_MAX && !args->known) {
		console_error(con, "--worse: needs --known");
		err = -EINVAL;
	}
	if (args->worse_percent == UINT64_MAX)
		args->worse_percent = KNOWN_WORSE_PERCENT;
	if (!err && !args->nr_paths)
		err = add_causes_path(args, folder[0], NULL);
	return err;
}

/* `judge` is NULL without a file of known causes. */
static double share_of_captures(const struct causes *causes, const struct group *group)
{
	return 100.0 * (double)group->count / (double)causes->nr;
}

/* Local time, as in the names of captures. */
static const char *format_local_seconds(char *text, size_t size, uint64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / NSEC_PER_SEC);
	struct tm tm;

	if (!wall_ns || !localtime_r(&seconds, &tm) ||
	    !strftime(text, size, "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(text, size, "-");
	return text;
}

static void print_group_places(FILE *out, const struct group *group)
{
	_cleanup_free_ char *cpus = NULL;

	fprintf(out, "          on ");
	for (size_t i = 0; i < group->nr_hosts && i < HOSTS_SHOWN; i++)
		fprintf(out, "%s%s", i ? ", " : "", CLEAN(group->hosts[i]));
	if (!group->nr_hosts)
		fputs("an unknown host", out);
	if (group->nr_hosts > HOSTS_SHOWN)
		fprintf(out, " and %zu more hosts", group->nr_hosts - HOSTS_SHOWN);
	if (group->nr_cpus && !cpulist_format(group->cpus, group->nr_cpus, &cpus))
		fprintf(out, ", CPU%s %s", group->nr_cpus > 1 ? "s" : "", cpus);
	fputc('\n', out);
}

static void print_known_state(FILE *out, const struct group *group, const struct known_judge *judge)
{
	const struct known_cause *cause;
	enum known_state state = known_judge_group(judge, group, &cause);

	fprintf(out, "          %s", known_state_name(state));
	if (state == KNOWN_WORSE)
		fprintf(out, ": %s was the worst so far", FORMAT_TIME(cause->worst_ns));
	else if (state == KNOWN_NEW && cause)
		fprintf(out, ": was known until %s, today is %s", cause->expires, judge->today);
	if (cause && *cause->comment)
		fprintf(out, " (%s)", CLEAN(cause->comment));
	fputc('\n', out);
}

static void print_cause_group(FILE *out, const struct causes *causes, const struct group *group,
			      const struct known_judge *judge)
{
	char first[32], last[32];

	fprintf(out, "%6zu %5.1f%% %8s %8s  %-19s  %-19s  %s\n", group->count,
		share_of_captures(causes, group), FORMAT_TIME(group->worst->latency_ns),
		FORMAT_TIME(group->p50_ns),
		format_local_seconds(first, sizeof(first), group->first_ns),
		format_local_seconds(last, sizeof(last), group->last_ns),
		CLEAN_TO(FINGERPRINT_ID_SIZE, group->fingerprint.id));
	if (judge)
		print_known_state(out, group, judge);
	print_group_places(out, group);
	fprintf(out, "          worst: %s\n", CLEAN_TO(SENTENCE_MAX, group->worst->sentence));
	fprintf(out, "                 %s\n", CLEAN_TO(PATH_MAX, group->worst->path));
}

static void json_add_places(json_object *object, const struct group *group)
{
	json_object *hosts = json_object_new_array(), *cpus = json_object_new_array();

	for (size_t i = 0; i < group->nr_hosts; i++)
		json_object_array_add(hosts, json_text_value(group->hosts[i]));
	for (size_t i = 0; i < group->nr_cpus; i++)
		json_object_array_add(cpus, json_object_new_int(group->cpus[i]));
	json_add(object, "hosts", hosts);
	json_add(object, "cpus", cpus);
}

static void json_add_known_state(json_object *object, const struct group *group,
				 const struct known_judge *judge)
{
	const struct known_cause *cause = NULL;
	enum known_state state = judge ? known_judge_group(judge, group, &cause) : KNOWN_NEW;

	json_add_text(object, "state", judge ? known_state_name(state) : NULL);
	json_add_known(object, "known_worst_ns", cause ? cause->worst_ns : 0, 0);
	json_add_name(object, "expires", cause ? cause->expires : NULL);
	json_add_name(object, "comment", cause ? cause->comment : NULL);
}

static json_object *new_group_line(const struct causes *causes, const struct group *group,
				   const struct known_judge *judge)
{
	static const char *const parts[] = { "kind", "chain", "sender" };
	_cleanup_json_ json_object *fingerprint = fingerprint_json(&group->fingerprint);
	_cleanup_free_ char *text = fingerprint_text(&group->fingerprint);
	json_object *object = json_typed_object("cause");

	json_add_text(object, "fingerprint", group->fingerprint.id);
	json_add_text(object, "cause", text);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		json_add(object, parts[i], json_object_get(json_find_value(fingerprint, parts[i])));
	json_add_u64(object, "count", group->count);
	json_add(object, "share", json_object_new_double(share_of_captures(causes, group)));
	json_add_u64(object, "worst_ns", group->worst->latency_ns);
	json_add_u64(object, "p50_ns", group->p50_ns);
	json_add_known(object, "first_ns", group->first_ns, 0);
	json_add_known(object, "last_ns", group->last_ns, 0);
	json_add_places(object, group);
	json_add_text(object, "example", group->worst->path);
	json_add_text(object, "sentence", group->worst->sentence);
	json_add_known_state(object, group, judge);
	return object;
}

static void count_known_states(const struct causes *causes, const struct known_judge *judge,
			       uint64_t states[KNOWN_FINE + 1])
{
	const struct known_cause *cause;

	for (size_t i = 0; judge && i < causes->nr_groups; i++)
		states[known_judge_group(judge, causes->groups[i], &cause)]++;
}

static json_object *new_summary_line(const struct causes *causes, const struct known_judge *judge)
{
	json_object *object = json_typed_object("summary");
	uint64_t states[KNOWN_FINE + 1] = { 0 };

	count_known_states(causes, judge, states);
	json_add_u64(object, "captures", causes->nr);
	json_add_u64(object, "without", causes->without);
	json_add_u64(object, "unreadable", causes->unreadable);
	json_add_u64(object, "causes", causes->nr_groups);
	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		json_add(object, known_state_name((enum known_state)i),
			 judge ? json_object_new_uint64(states[i]) : NULL);
	return object;
}

static void print_causes_total(FILE *out, const struct causes *causes,
			       const struct known_judge *judge)
{
	uint64_t states[KNOWN_FINE + 1] = { 0 };

	count_known_states(causes, judge, states);
	fprintf(out, "%s of %s", FORMAT_COUNT(causes->nr_groups, "cause", "causes"),
		FORMAT_COUNT(causes->nr, "capture", "captures"));
	for (size_t i = 0; judge && i < ARRAY_SIZE(states); i++)
		fprintf(out, "%s %" PRIu64 " %s", i ? "," : ":", states[i],
			known_state_name((enum known_state)i));
	if (causes->without)
		fprintf(out, "; %s without a spike",
			FORMAT_COUNT(causes->without, "capture", "captures"));
	if (causes->unreadable)
		fprintf(out, "; %zu unreadable", causes->unreadable);
	fputc('\n', out);
}

static void print_causes(struct console *con, const struct causes *causes,
			 const struct known_judge *judge)
{
	if (con->json) {
		for (size_t i = 0; i < causes->nr_groups; i++)
			json_print_line(con, new_group_line(causes, causes->groups[i], judge));
		json_print_line(con, new_summary_line(causes, judge));
		return;
	}
	if (causes->nr_groups)
		fprintf(con->out, "%6s %6s %8s %8s  %-19s  %-19s  %s\n", "COUNT", "SHARE", "WORST",
			"P50", "FIRST SEEN", "LAST SEEN", "CAUSE");
	for (size_t i = 0; i < causes->nr_groups; i++)
		print_cause_group(con->out, causes, causes->groups[i], judge);
	print_causes_total(con->out, causes, judge);
}

/* Beside the page, or below its folder: a relative link, so that both can be moved. */
static void json_push_link(json_object *list, const char *folder, const char *path)
{
	_cleanup_free_ char *real = realpath(path, NULL);
	size_t length = folder ? strlen(folder) : 0;

	if (real && folder && has_prefix(real, folder) && real[length] == '/')
		json_push_text(list, real + length + 1);
	else
		json_push_text(list, real ?: path);
}

/* [milliseconds since 1970, latency in ns, CPU, host, path, link] each */
static json_object *new_chart_points(const struct group *group, const char *folder)
{
	json_object *list = json_object_new_array();

	for (size_t i = 0; i < group->count; i++) {
		const struct sighting *sighting = &group->sightings[i];
		json_object *row = json_object_new_array();

		json_push_u64(row, sighting->wall_ns / 1000000);
		json_push_u64(row, sighting->latency_ns);
		json_object_array_add(row, json_object_new_int(sighting->cpu));
		json_push_text(row, sighting->host);
		json_push_text(row, sighting->path);
		json_push_link(row, folder, sighting->path);
		json_object_array_add(list, row);
	}
	return list;
}

/* NULL: unknown. */
static char *folder_of_file(const char *path)
{
	_cleanup_free_ char *copy = strdup(path);

	return copy ? realpath(dirname(copy), NULL) : NULL;
}

/* Returns 0 or a negative errno. */
static int write_causes_page(FILE *file, const char *path, const struct causes *causes,
			     const struct known_judge *judge)
{
	_cleanup_free_ char *folder = folder_of_file(path);
	json_object *list = json_object_new_array();
	int err;

	for (size_t i = 0; i < causes->nr_groups; i++) {
		const struct group *group = causes->groups[i];
		json_object *object = new_group_line(causes, group, judge);

		json_add(object, "points", new_chart_points(group, folder));
		json_object_array_add(list, object);
	}
	err = html_page_write(file, causes_html, &list);
	json_object_put(list);
	return err;
}

static void set_judge_date(struct known_judge *judge)
{
	time_t now = time(NULL);
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(judge->today, sizeof(judge->today), "%Y-%m-%d", &tm);
}

struct writing {
	struct console *con;
	const struct causes_args *args;
	const struct causes *causes;
	const struct known_judge *judge;
};

/* Writes the whole file or none. Prints errors. */
static int write_causes_file(const struct writing *w, const char *path, bool is_page)
{
	struct output_file output;
	FILE *file;
	int err = output_file_open(&output, path, w->args->force);

	if (!err) {
		file = fdopen(dup(output.fd), "w");
		if (!file)
			err = -errno;
		else if (is_page)
			err = write_causes_page(file, path, w->causes,
						w->args->known ? w->judge : NULL);
		else
			err = known_causes_write(file, w->judge->known, w->causes);
		if (file && fclose(file))
			err = err ?: -errno;
	}
	if (!err)
		err = output_file_publish(&output);
	output_file_close(&output);
	if (err)
		console_error(w->con, "--%s '%s': %s", is_page ? "html" : "save", path,
			      output_file_strerror(err));
	return err;
}

static enum exit_code judge_all_groups(const struct causes *causes, const struct known_judge *judge)
{
	const struct known_cause *cause;

	for (size_t i = 0; i < causes->nr_groups; i++) {
		if (known_judge_group(judge, causes->groups[i], &cause) != KNOWN_FINE)
			return EXIT_NEW_CAUSE;
	}
	return EXIT_FINE;
}

/* An unreadable capture may have a new cause: the exit code says so. */
static enum exit_code write_causes_files(const struct writing *w)
{
	const struct causes *causes = w->causes;
	enum exit_code code;

	if (!causes->nr)
		return causes->unreadable ? EXIT_FAILED : EXIT_NO_SPIKE;
	if (w->args->html && write_causes_file(w, w->args->html, true))
		return EXIT_FAILED;
	if (w->args->save && causes->unreadable) {
		console_error(w->con, "--save '%s': not written: some captures are unreadable",
			      w->args->save);
		return EXIT_FAILED;
	}
	if (w->args->save && write_causes_file(w, w->args->save, false))
		return EXIT_FAILED;
	code = w->args->known ? judge_all_groups(causes, w->judge) : EXIT_FINE;
	return code == EXIT_FINE && causes->unreadable ? EXIT_FAILED : code;
}

static int read_known_file(struct known *known, struct console *con, const struct causes_args *args)
{
	_cleanup_free_ char *why = NULL;
	int err = args->known ? known_causes_read(known, args->known, &why) : 0;

	if (err)
		console_error(con, "--known '%s': %s", args->known, why ?: strerror(-err));
	return err;
}

static enum exit_code run_causes(struct console *con, int argc, char **argv)
{
	_cleanup_(known_causes_release) struct known known = { 0 };
	_cleanup_(causes_release) struct causes causes = { 0 };
	_cleanup_free_ void *paths = NULL;
	struct known_judge judge = { .known = &known };
	struct analysis_hooks hooks;
	struct causes_args args;
	int err = causes_parse(&args, con, argc, argv);

	paths = args.paths;
	console_use_json(con, args.json);
	if (err)
		return command_options_exit(err);
	judge.worse_percent = args.worse_percent;
	if (reader_begin(con, args.max_size, ""))
		return EXIT_FAILED;
	set_judge_date(&judge);
	if (read_known_file(&known, con, &args))
		return EXIT_USAGE;
	reader_hooks(con, &hooks);
	hooks.symfs = args.symfs;
	for (size_t i = 0; i < args.nr_paths && !err; i++)
		err = causes_collect(&causes, &hooks, args.paths[i]);
	console_clear_status(con);
	if (!err)
		err = causes_sort_groups(&causes);
	if (err) {
		console_error(con, "%s", reader_strerror(err));
		return EXIT_FAILED;
	}
	print_causes(con, &causes, args.known ? &judge : NULL);
	return write_causes_files(&(struct writing){ con, &args, &causes, &judge });
}

const struct command command_causes = {
	.name = "causes",
	.summary = "Group captures by cause, and tell new causes from known ones.",
	.arguments = "[DIR|ARCHIVE]... [OPTIONS]",
	.example = "perf-poke-ctl causes --save known.json",
	.notes = notes,
	COMMAND_OPTIONS(options),
	.folds = true,
	.run = run_causes,
};
