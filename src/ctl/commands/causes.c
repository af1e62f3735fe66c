// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include <time.h>

#include "array.h"
#include "bundle/bundle.h"
#include "capture/captures.h"
#include "causes/collect.h"
#include "causes/known.h"
#include "causes/print.h"
#include "cli/cli.h"
#include "commands/commands.h"

struct causes_args {
	const char **paths; /* to be freed */
	size_t nr_paths;
	uint64_t max_size; /* 0: default */
	uint64_t worse_percent;
	const char *known; /* or NULL */
	const char *save;  /* or NULL */
	const char *html;  /* or NULL */
	bool force;
	bool json;
};

#define TARGET(member) .offset = offsetof(struct causes_args, member)

static int parse_path(void *target, const char *value, char **why)
{
	struct causes_args *args = target;

	if (array_grow(&args->paths, args->nr_paths, sizeof(*args->paths)))
		return -ENOMEM;
	args->paths[args->nr_paths++] = value;
	return 0;
}

static const struct option_spec options[] = {
	{ NULL, 0, OPTION_WORD, .repeatable = true, .parse = parse_path, .metavar = "DIR|ARCHIVE",
	  .help = "folder with captures at any depth (" FOLDER_DEFAULT "), a\n"
		  "capture, or an archive" },
	{ "known", 'k', OPTION_STRING, TARGET(known), .metavar = "FILE",
	  .help = "compare with the causes of this file" },
	{ "worse", 0, OPTION_COUNT, .max = 1000000, TARGET(worse_percent), .metavar = "PERCENT",
	  .help = "how much longer than before a known cause may take (25)" },
	{ "save", 0, OPTION_STRING, TARGET(save), .metavar = "FILE",
	  .help = "write a file for --known; with --known, keep that file's\n"
		  "comments, dates and unseen causes" },
	{ "html", 0, OPTION_STRING, TARGET(html), .metavar = "FILE",
	  .help = "write an offline page with a chart over time" },
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
	int r;

	*args = (struct causes_args){ .worse_percent = UINT64_MAX };
	r = command_options(&command_causes, con, argc, argv, args);
	if (!r && args->worse_percent != UINT64_MAX && !args->known) {
		console_error(con, "--worse: needs --known");
		r = -EINVAL;
	}
	if (args->worse_percent == UINT64_MAX)
		args->worse_percent = KNOWN_WORSE_PERCENT;
	if (!r && !args->nr_paths)
		r = parse_path(args, folder[0], NULL);
	return r;
}

static void set_today(struct known_judge *judge)
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

static int put_page(FILE *file, const struct writing *w)
{
	return causes_page(file, w->causes, w->args->known ? w->judge : NULL);
}

static int put_known(FILE *file, const struct writing *w)
{
	return known_write(file, w->judge->known, w->causes);
}

/* Writes the whole file or none. Prints errors. */
static int write_file(const struct writing *w, const char *option, const char *path,
		      int (*put)(FILE *file, const struct writing *w))
{
	struct output_file output;
	FILE *file;
	int r = output_file_open(&output, path, w->args->force);

	if (!r) {
		file = fdopen(dup(output.fd), "w");
		r = file ? put(file, w) : -errno;
		if (file && fclose(file))
			r = r ?: -errno;
	}
	if (!r)
		r = output_file_publish(&output);
	output_file_close(&output);
	if (r)
		console_error(w->con, "%s '%s': %s", option, path, output_file_strerror(r));
	return r;
}

static enum exit_code judge_all(const struct causes *causes, const struct known_judge *judge)
{
	const struct known_cause *cause;

	for (size_t i = 0; i < causes->nr_groups; i++) {
		if (known_judge(judge, causes->groups[i], &cause) != KNOWN_FINE)
			return EXIT_NEW_CAUSE;
	}
	return EXIT_FINE;
}

/* An unreadable capture may have a new cause: the exit code says so. */
static enum exit_code finish(const struct writing *w)
{
	const struct causes *causes = w->causes;
	enum exit_code code;

	if (!causes->nr)
		return causes->unreadable ? EXIT_FAILED : EXIT_NO_SPIKE;
	if (w->args->html && write_file(w, "--html", w->args->html, put_page))
		return EXIT_FAILED;
	if (w->args->save && causes->unreadable) {
		console_error(w->con, "--save '%s': not written: some captures are unreadable",
			      w->args->save);
		return EXIT_FAILED;
	}
	if (w->args->save && write_file(w, "--save", w->args->save, put_known))
		return EXIT_FAILED;
	code = w->args->known ? judge_all(causes, w->judge) : EXIT_FINE;
	return code == EXIT_FINE && causes->unreadable ? EXIT_FAILED : code;
}

static int collect_all(struct causes *causes, struct console *con, const struct causes_args *args)
{
	int r = 0;

	for (size_t i = 0; i < args->nr_paths && !r; i++)
		r = collect(causes, con, args->paths[i]);
	if (!r)
		r = causes_sort(causes);
	if (r)
		console_error(con, "%s", reader_strerror(r));
	return r;
}

static int read_known(struct known *known, struct console *con, const struct causes_args *args)
{
	_cleanup_free_ char *why = NULL;
	int r = args->known ? known_read(known, args->known, &why) : 0;

	if (r)
		console_error(con, "--known '%s': %s", args->known, why ?: strerror(-r));
	return r;
}

static enum exit_code run_parsed(struct console *con, const struct causes_args *args)
{
	_cleanup_(known_release) struct known known = { 0 };
	_cleanup_(causes_release) struct causes causes = { 0 };
	struct known_judge judge = {
		.known = &known,
		.worse_percent = args->worse_percent,
	};

	if (reader_begin(con, args->max_size, ""))
		return EXIT_FAILED;
	set_today(&judge);
	if (read_known(&known, con, args))
		return EXIT_USAGE;
	if (collect_all(&causes, con, args))
		return EXIT_FAILED;
	causes_print(con, &causes, args->known ? &judge : NULL);
	return finish(&(struct writing){ con, args, &causes, &judge });
}

static enum exit_code run(struct console *con, int argc, char **argv)
{
	enum exit_code code;
	struct causes_args args;
	int r;

	r = causes_parse(&args, con, argc, argv);
	console_use_json(con, args.json);
	code = r ? command_options_exit(r) : run_parsed(con, &args);
	free(args.paths);
	return code;
}

const struct command command_causes = {
	.name = "causes",
	.summary = "Group captures by cause, and tell new causes from known ones.",
	.arguments = "[DIR|ARCHIVE]... [OPTIONS]",
	.notes = notes,
	COMMAND_OPTIONS(options),
	.run = run,
};
