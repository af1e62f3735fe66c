// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "archive/archive.h"
#include "clock.h"
#include "commands/commands.h"
#include "io.h"
#include "output/output.h"

#define TOP 10
#define TARGET(member) .offset = offsetof(struct report_args, member)

struct report_args {
	const char *capture;
	const char *against; /* or NULL */
	const char *symfs;   /* or NULL */
	uint64_t window_ns;  /* 0: default */
	uint64_t top;
	uint64_t activations; /* with `normal` */
	uint64_t max_size;    /* 0: default */
	bool normal;
	bool json;
};

static const struct option_spec options[] = {
	{ NULL, 0, OPTION_WORD, TARGET(capture), .metavar = "CAPTURE",
	  .help = FOLDER_CAPTURE_HELP ", or an archive" },
	{ "window", 'w', OPTION_TIME, .min = 1, .max = 8760 * NSEC_PER_HOUR, TARGET(window_ns),
	  .metavar = "TIME",
	  .help = "time before the spike (200us, or 1.25 times the latency\n"
		  "if that is longer)" },
	{ "top", 0, OPTION_COUNT, .min = 1, .max = 100000, TARGET(top), .metavar = "N",
	  .help = "number of functions (10)" },
	{ "normal", 0, OPTION_FLAG, TARGET(normal),
	  .help = "what is different from normal activations of the same\n"
		  "timer or span earlier in the trace: which functions, how\n"
		  "much longer, new or missing" },
	{ "against", 0, OPTION_STRING, TARGET(against), .metavar = "CAPTURE",
	  .help = "the same, from the late activation in another capture or\n"
		  "archive of the same recorder" },
	{ "activations", 0, OPTION_COUNT, .min = 5, .max = 10000, TARGET(activations),
	  .metavar = "N", .help = "with --normal, use the newest N (100)" },
	{ "symfs", 0, OPTION_STRING, TARGET(symfs), .metavar = "DIR", .help = DECODING_SYMFS_HELP },
	{ "max-size", 0, OPTION_SIZE, READER_MAX_SIZE, TARGET(max_size),
	  .help = READER_MAX_SIZE_HELP },
	{ "json", 0, OPTION_FLAG, TARGET(json), .help = "print one JSON object" },
};

static const char notes[] =
	OPTIONS_TIMES ".\n"
		      "\n"
		      "Exit codes: 0 fine, 1 the capture is unreadable, 2 usage.\n";

/* A capture that the user named, and where it is. */
struct input {
	const char *name;
	char *folder;
	bool archive; /* unpacked into a temporary folder */
	struct temporary unpacked;
};

static void report_input_close(struct input *input)
{
	if (input->archive)
		temporary_release(&input->unpacked);
	free(input->folder);
}

/* Call report_input_close() also on failure. Returns 0, or a negative errno with *why. */
static int report_input_open(const struct analysis_hooks *hooks, struct input *input,
			     const char *word, char **why)
{
	_cleanup_close_ int fd = word ? regular_open(AT_FDCWD, word) : -1;
	int err;

	input->name = word;
	if (fd < 0) {
		err = capture_folder_choose(word, &input->folder, why);
		input->name = input->folder;
		return err;
	}
	input->archive = true;
	err = unpack_temporary(&input->unpacked, fd, hooks, why);
	if (!err && !(input->folder = strdup(input->unpacked.path)))
		err = -ENOMEM;
	return err ? failure_explain(why, err, "'%s' cannot be opened: %s", word,
				     *why ?: hooks_error_text(hooks, err))
		   : 0;
}

static enum exit_code report_capture(struct console *con, const struct report_args *args,
				     const struct analysis_hooks *hooks, const struct input *here,
				     const struct input *there, char **why)
{
	_cleanup_(account_release) struct account account = {};
	_cleanup_(comparison_release) struct comparison comparison = {};
	const struct account_want want = { .window_ns = args->window_ns,
					   .symfs = args->symfs,
					   .lines = true };
	const struct comparison_want both = {
		.folder = here->folder,
		.against = there->folder,
		.symfs = args->symfs,
		.activations = args->activations,
	};
	bool compared = args->normal || args->against;
	json_object *object;
	int err = 0;

	if (account_load(&account, hooks, here->folder, &want, why))
		return EXIT_FAILED;
	if (!args->window_ns && !args->symfs)
		verdict_keep_in_cache(&account);
	if (args->window_ns && account.facts.no_times) {
		(void)failure_explain(why, 0,
				      "--window: the trace of '%s' has no times, because TSC was "
				      "not perf's clock",
				      here->name);
		return EXIT_USAGE;
	}
	if (compared)
		err = comparison_load(&comparison, hooks, &both, why);
	if (args->against && !err && !args->symfs)
		verdict_keep_in_cache(&comparison.there);
	if (err)
		return err == -EXDEV ? EXIT_USAGE : EXIT_FAILED;
	account.capture = here->name;
	account.columns = con->columns;
	if (args->against)
		comparison.there.capture = there->name;
	comparison.here.columns = con->columns;
	if (!con->json) {
		account_print(con->out, &account, args->top);
		if (compared)
			comparison_print(con->out, &comparison, args->top);
		return EXIT_FINE;
	}
	object = account_json(&account, args->top);
	if (compared)
		json_add(object, args->normal ? "normal" : "against",
			 comparison_json(&comparison, args->top, false));
	json_print_line(con, object);
	return EXIT_FINE;
}

static enum exit_code run_report(struct console *con, int argc, char **argv)
{
	_cleanup_(report_input_close) struct input here = {};
	_cleanup_(report_input_close) struct input there = {};
	struct report_args args = { .top = TOP, .activations = NORMAL_ACTIVATIONS };
	_cleanup_free_ char *why = NULL;
	enum exit_code code = EXIT_FAILED;
	struct analysis_hooks hooks;
	int err = command_options(&command_report, con, argc, argv, &args);

	if (err)
		return command_options_exit(err);
	console_use_json(con, args.json);
	if (args.normal && args.against) {
		console_error(con, "--normal and --against '%s': give one of them", args.against);
		return EXIT_USAGE;
	}
	if (reader_begin(con, args.max_size, ""))
		return EXIT_FAILED;
	reader_hooks(con, &hooks);
	err = report_input_open(&hooks, &here, args.capture, &why);
	if (!err && args.against)
		err = report_input_open(&hooks, &there, args.against, &why);
	if (!err)
		code = report_capture(con, &args, &hooks, &here, &there, &why);
	if (code != EXIT_FINE)
		console_error(con, "%s", why ?: strerror(ENOMEM));
	return code;
}

const struct command command_report = {
	.name = "report",
	.summary = "Report why a timer was late, and what took the time.",
	.arguments = "[CAPTURE|ARCHIVE] [OPTIONS]",
	.example = "perf-poke-ctl report --normal",
	.notes = notes,
	COMMAND_OPTIONS(options),
	.folds = true,
	.run = run_report,
};
