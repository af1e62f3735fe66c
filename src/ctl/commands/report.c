// SPDX-License-Identifier: GPL-2.0-only
#include "commands/report.h"

#include <string.h>

#include "account/difference.h"
#include "bundle/unpacked.h"
#include "capture/account_load.h"
#include "capture/decoding.h"
#include "capture/folder.h"
#include "capture/normal_load.h"
#include "cli/json_line.h"
#include "commands/commands.h"
#include "io.h"

#define TOP 10
#define TARGET(member) .offset = offsetof(struct report_args, member)

static const struct option_spec options[] = {
	{ NULL, 0, OPTION_WORD, TARGET(capture), .metavar = "CAPTURE",
	  .help = FOLDER_CAPTURE_HELP ", or an archive" },
	{ "window", 'w', OPTION_TIME, .min = 1, .max = 8760 * OPTIONS_NS_PER_H, TARGET(window_ns),
	  .metavar = "TIME",
	  .help = "time before the spike (200us, or 1.25 times the latency\n"
		  "if that is longer)" },
	{ "top", 0, OPTION_COUNT, .min = 1, .max = 100000, TARGET(top), .metavar = "N",
	  .help = "number of functions (10)" },
	{ "against", 0, OPTION_STRING, TARGET(against), .metavar = "CAPTURE",
	  .help = "compare with a capture or archive of the same recorder:\n"
		  "where the paths diverge, and what took longer; with\n"
		  "--normal, compare with its normal activations" },
	{ "normal", 0, OPTION_FLAG, TARGET(normal),
	  .help = "compare with normal activations of the same timer or span\n"
		  "earlier in the trace: where the late one first differs,\n"
		  "and what took longer" },
	{ "activations", 0, OPTION_COUNT, .min = 5, .max = 10000, TARGET(activations),
	  .metavar = "N", .help = "with --normal, use the newest N (100)" },
	{ "symfs", 0, OPTION_STRING, TARGET(symfs), .metavar = "DIR", .help = DECODING_SYMFS_HELP },
	{ "json", 0, OPTION_FLAG, TARGET(json), .help = "print one JSON object" },
};

static const char notes[] =
	OPTIONS_TIMES ".\n"
		      "\n"
		      "Exit codes: 0 fine, 1 the capture is unreadable, 2 usage.\n";

int report_parse(struct report_args *args, struct console *con, int argc, char **argv)
{
	*args = (struct report_args){ .top = TOP, .activations = NORMAL_ACTIVATIONS };
	return command_options(&command_report, con, argc, argv, args);
}

/* Contents of a report; comparisons only on request. */
struct shown {
	struct account here, there, whole; /* `whole`: as much as `normal` needs */
	struct difference difference;
	struct normal normal;
};

static void release_shown(struct shown *shown)
{
	normal_release(&shown->normal);
	difference_release(&shown->difference);
	account_release(&shown->here);
	account_release(&shown->there);
	account_release(&shown->whole);
}

static void print_json(struct console *con, const struct report_args *args,
		       const struct shown *shown)
{
	json_object *object = account_json(&shown->here, args->top);

	if (args->against && !args->normal)
		json_add(object, "against",
			 difference_json(&shown->difference, &shown->here, &shown->there,
					 args->top));
	if (args->normal)
		json_add(object, "normal", normal_json(&shown->normal, args->top));
	json_print(con, object);
}

static void print(struct console *con, const struct report_args *args, const struct shown *shown)
{
	if (con->json) {
		print_json(con, args, shown);
		return;
	}
	account_print(con->out, &shown->here, args->top);
	if (args->against && !args->normal)
		difference_print(con->out, &shown->difference, &shown->here, &shown->there,
				 args->top);
	if (args->normal)
		normal_print(con->out, &shown->normal, args->top);
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

static int compare(struct console *con, const struct report_args *args, struct shown *shown)
{
	int r = load_other(con, args, &shown->here, &shown->there);

	if (r)
		return r;
	r = difference_make(&shown->difference, &shown->here, &shown->there);
	if (r)
		console_error(con, "%s", strerror(-r));
	return r;
}

/* Returns -EXDEV if the capture cannot be compared. */
static int load(struct console *con, const struct report_args *args, struct shown *shown)
{
	const struct account_want want = { .window_ns = args->window_ns, .symfs = args->symfs };
	const struct normal_want normal = { .symfs = args->symfs,
					    .activations = args->activations };
	const struct normal_folders folders = { args->capture, args->against };
	int r = account_load(&shown->here, con, args->capture, &want);

	if (r)
		return r == -EXDEV ? -EIO : r;
	if (args->window_ns && shown->here.facts.no_times) {
		console_error(con,
			      "--window: the trace of '%s' has no times, because TSC was not "
			      "perf's clock",
			      args->capture);
		return -EXDEV;
	}
	if (args->normal && args->against)
		r = normal_load_against(&shown->normal, &shown->whole, &shown->there, con, &folders,
					&normal);
	else if (args->normal)
		r = normal_load(&shown->normal, &shown->whole, con, args->capture, &normal);
	else if (args->against)
		r = compare(con, args, shown);
	if (args->against_archive)
		shown->there.capture = args->against_archive;
	return r;
}

static enum exit_code show(struct console *con, const struct report_args *args)
{
	_cleanup_(release_shown) struct shown shown = {};
	int r = load(con, args, &shown);

	if (r)
		return r == -EXDEV ? EXIT_USAGE : EXIT_FAILED;
	shown.here.capture = args->archive ?: args->capture;
	print(con, args, &shown);
	return EXIT_FINE;
}

static int unpack(struct console *con, struct unpacked *unpacked, int fd, const char *archive)
{
	_cleanup_free_ char *why = NULL;
	int r = unpacked_open(unpacked, fd, UNPACKED_MAX_SIZE, &why);

	if (r)
		console_error(con, "'%s' cannot be opened: %s", archive, why ?: strerror(-r));
	return r;
}

/* Unpacks an archive of --against into a temporary folder, like the next. */
static enum exit_code show_against(struct console *con, struct report_args *args)
{
	_cleanup_close_ int fd = args->against ? regular_open(AT_FDCWD, args->against) : -1;
	enum exit_code code = EXIT_FAILED;
	struct unpacked unpacked;

	if (fd < 0)
		return show(con, args);
	args->against_archive = args->against;
	if (!unpack(con, &unpacked, fd, args->against)) {
		args->against = unpacked.partial.path;
		code = show(con, args);
	}
	unpacked_close(&unpacked);
	return code;
}

static enum exit_code show_archive(struct console *con, struct report_args *args, int fd)
{
	enum exit_code code = EXIT_FAILED;
	struct unpacked unpacked;

	args->archive = args->capture;
	if (!unpack(con, &unpacked, fd, args->archive)) {
		args->capture = unpacked.partial.path;
		code = show_against(con, args);
	}
	unpacked_close(&unpacked);
	return code;
}

static enum exit_code run(struct console *con, int argc, char **argv)
{
	_cleanup_free_ char *folder = NULL;
	_cleanup_close_ int fd = -1;
	struct report_args args;
	int r;

	r = report_parse(&args, con, argc, argv);
	if (r)
		return command_options_exit(r);
	json_use(con, args.json);
	fd = args.capture ? regular_open(AT_FDCWD, args.capture) : -1;
	if (fd >= 0)
		return show_archive(con, &args, fd);
	if (folder_choose(con, args.capture, &folder))
		return EXIT_FAILED;
	args.capture = folder;
	return show_against(con, &args);
}

const struct command command_report = {
	.name = "report",
	.summary = "Report why a timer was late, and what took the time.",
	.arguments = "[CAPTURE|ARCHIVE] [OPTIONS]",
	.notes = notes,
	COMMAND_OPTIONS(options),
	.run = run,
};
