// SPDX-License-Identifier: GPL-2.0-only
#include "commands/report.h"

#include <string.h>

#include "account/difference.h"
#include "capture/account_load.h"
#include "capture/decoding.h"
#include "capture/folder.h"
#include "cli/json_line.h"
#include "commands/commands.h"

#define TOP 10
#define TARGET(member) .offset = offsetof(struct report_args, member)

static const struct option_spec options[] = {
	{ NULL, 0, OPTION_WORD, TARGET(capture), .metavar = "CAPTURE",
	  .help = FOLDER_CAPTURE_HELP },
	{ "window", 'w', OPTION_TIME, .min = 1, .max = 8760 * OPTIONS_NS_PER_H, TARGET(window_ns),
	  .metavar = "TIME",
	  .help = "time before the spike (200us, or 1.25 times the latency\n"
		  "if that is longer)" },
	{ "top", 0, OPTION_COUNT, .min = 1, .max = 100000, TARGET(top), .metavar = "N",
	  .help = "number of functions (10)" },
	{ "against", 0, OPTION_STRING, TARGET(against), .metavar = "CAPTURE",
	  .help = "compare with a capture of the same recorder: where the\n"
		  "paths diverge, and what took longer" },
	{ "symfs", 0, OPTION_STRING, TARGET(symfs), .metavar = "DIR", .help = DECODING_SYMFS_HELP },
	{ "json", 0, OPTION_FLAG, TARGET(json), .help = "print one JSON object" },
};

static const char notes[] =
	OPTIONS_TIMES ".\n"
		      "\n"
		      "Exit codes: 0 fine, 1 the capture is unreadable, 2 usage.\n";

int report_parse(struct report_args *args, struct console *con, int argc, char **argv)
{
	*args = (struct report_args){ .top = TOP };
	return command_options(&command_report, con, argc, argv, args);
}

static enum exit_code print(struct console *con, const struct report_args *args,
			    const struct account *here, const struct account *there,
			    const struct difference *difference)
{
	json_object *object;

	if (!con->json) {
		account_print(con->out, here, args->top);
		if (there)
			difference_print(con->out, difference, here, there, args->top);
		return EXIT_FINE;
	}
	object = account_json(here, args->top);
	if (there)
		json_add(object, "against", difference_json(difference, here, there, args->top));
	json_print(con, object);
	return EXIT_FINE;
}

/* For comparable times, both captures use the longer of the two windows. */
static int load_other(struct console *con, const struct report_args *args, struct account *here,
		      struct account *there)
{
	struct account_want want = { .window_ns = args->window_ns, .symfs = args->symfs };
	int r = account_load(there, con, args->against, &want);

	if (r)
		return r;
	if (!facts_have_times(&here->facts) || !facts_have_times(&there->facts)) {
		console_error(con, "--against '%s': '%s' has no trace with times", args->against,
			      facts_have_times(&here->facts) ? args->against : args->capture);
		return -EXDEV;
	}
	if (here->facts.pt != there->facts.pt) {
		console_error(con, "--against '%s': not the same recorder as '%s'", args->against,
			      args->capture);
		return -EXDEV;
	}
	if (here->window_ns < there->window_ns) {
		want.window_ns = there->window_ns;
		account_release(here);
		return account_load(here, con, args->capture, &want);
	}
	if (here->window_ns > there->window_ns) {
		want.window_ns = here->window_ns;
		account_release(there);
		return account_load(there, con, args->against, &want);
	}
	return 0;
}

static enum exit_code compare(struct console *con, const struct report_args *args,
			      struct account *here)
{
	_cleanup_(difference_release) struct difference difference = { 0 };
	_cleanup_(account_release) struct account there = { 0 };
	int r = load_other(con, args, here, &there);

	if (r)
		return r == -EXDEV ? EXIT_USAGE : EXIT_FAILED;
	r = difference_make(&difference, here, &there);
	if (r) {
		console_error(con, "%s", strerror(-r));
		return EXIT_FAILED;
	}
	return print(con, args, here, &there, &difference);
}

static enum exit_code run(struct console *con, int argc, char **argv)
{
	_cleanup_(account_release) struct account account = { 0 };
	_cleanup_free_ char *folder = NULL;
	struct account_want want;
	struct report_args args;
	int r;

	r = report_parse(&args, con, argc, argv);
	if (r)
		return command_options_exit(r);
	json_use(con, args.json);
	if (folder_choose(con, args.capture, &folder))
		return EXIT_FAILED;
	args.capture = folder;
	want = (struct account_want){ .window_ns = args.window_ns, .symfs = args.symfs };
	if (account_load(&account, con, args.capture, &want))
		return EXIT_FAILED;
	if (args.window_ns && account.facts.no_times) {
		console_error(con,
			      "--window: the trace of '%s' has no times, because TSC was not "
			      "perf's clock",
			      args.capture);
		return EXIT_USAGE;
	}
	return args.against ? compare(con, &args, &account)
			    : print(con, &args, &account, NULL, NULL);
}

const struct command command_report = {
	.name = "report",
	.summary = "Report why the timer of a capture was late, and what took the time.",
	.arguments = "[CAPTURE] [OPTIONS]",
	.notes = notes,
	COMMAND_OPTIONS(options),
	.run = run,
};
