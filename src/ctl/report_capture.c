// SPDX-License-Identifier: GPL-2.0-only
#include "report_capture.h"

#include "account_load.h"

#define NS_PER_H UINT64_C(3600000000000)
#define TOP 10
#define TARGET(member) .offset = offsetof(struct report_args, member)

static const struct option_spec options[] = {
	{ NULL, 0, OPTION_WORD, .required = true, TARGET(capture), .metavar = "CAPTURE",
	  .help = "folder of a capture" },
	{ "window", 'w', OPTION_TIME, .min = 1, .max = 8760 * NS_PER_H, TARGET(window_ns),
	  .metavar = "TIME",
	  .help = "begin this long before the spike (200us, or a quarter more\n"
		  "than the timer was late)" },
	{ "top", 0, OPTION_COUNT, .min = 1, .max = 100000, TARGET(top), .metavar = "N",
	  .help = "so many functions (10)" },
	{ "json", 0, OPTION_FLAG, TARGET(json), .help = "print one JSON object" },
};

static const char notes[] = "Runs the perf in PATH, or the one that PERF_POKE_PERF names.\n"
			    "Times take ns, us, ms, s, m or h; a bare number is microseconds.\n"
			    "\n"
			    "Exit codes: 0 reported, 1 the capture cannot be read, 2 usage.\n";

int report_parse(struct report_args *args, struct console *con, int argc, char **argv)
{
	*args = (struct report_args){ .top = TOP };
	return command_options(&command_report, con, argc, argv, args);
}

static enum exit_code print(struct console *con, const struct report_args *args,
			    const struct account *account)
{
	if (con->json)
		console_json(con, account_json(account, args->top));
	else
		account_print(con->out, account, args->top);
	return EXIT_FINE;
}

static enum exit_code run(struct console *con, int argc, char **argv)
{
	_cleanup_(account_release) struct account account = { 0 };
	struct report_args args;
	int r;

	r = report_parse(&args, con, argc, argv);
	if (r)
		return command_options_exit(r);
	con->json = args.json;
	if (account_load(&account, con, args.capture, args.window_ns, 0))
		return EXIT_FAILED;
	return print(con, &args, &account);
}

const struct command command_report = {
	.name = "report",
	.summary = "Say why the timer of a capture was late, and what took the time.",
	.arguments = "CAPTURE [OPTIONS]",
	.notes = notes,
	.options = options,
	.nr_options = ARRAY_SIZE(options),
	.run = run,
};
