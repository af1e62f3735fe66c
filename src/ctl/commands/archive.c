// SPDX-License-Identifier: GPL-2.0-only
#include "bundle/bundle.h"

#include <string.h>
#include <sys/stat.h>

#include "capture/captures.h"
#include "cli/cli.h"
#include "commands/commands.h"
#include "text.h"

#define TARGET(member) .offset = offsetof(struct archiving_args, member)

static int parse_word(void *target, const char *value, char **why)
{
	struct archiving_args *args = target;

	if (!strcmp(value, "-"))
		args->output = value;
	else if (args->capture)
		return say_why(why, -EINVAL, "one capture at a time");
	else
		args->capture = value;
	return 0;
}

static const struct option_spec options[] = {
	{ NULL, 0, OPTION_WORD, .repeatable = true, .parse = parse_word, .metavar = "CAPTURE",
	  .help = FOLDER_CAPTURE_HELP "; - means --output -" },
	{ "output", 'o', OPTION_STRING, TARGET(output), .metavar = "FILE",
	  .help = "output file, such as spike.tar.zst; in a folder, a file\n"
		  "named by its content; - for standard output" },
	{ "force", 'f', OPTION_FLAG, TARGET(force), .help = OUTPUT_FORCE_HELP },
	{ "no-binaries", 0, OPTION_FLAG, TARGET(no_binaries),
	  .help = "leave out the traced programs and libraries" },
	{ "quiet", 'q', OPTION_FLAG, TARGET(quiet), .help = "print warnings and errors only" },
};

static const char notes[] =
	"Run this on the machine of the capture: it adds facts of this machine and the traced\n"
	"files. Any other machine reads the archive with perf-poke-ctl open FILE, without root.\n"
	"\n"
	"Exit codes: 0 archive written, 1 failed (no file), 2 usage.\n";

int archiving_parse(struct archiving_args *args, struct console *con, int argc, char **argv)
{
	int r;

	*args = (struct archiving_args){ 0 };
	r = command_options(&command_archive, con, argc, argv, args);
	if (!r && !args->output) {
		console_error(con, "--output FILE is required");
		r = -EINVAL;
	}
	return r;
}

/* Of a folder: the archive in it. Prints errors. */
static int choose_output(struct console *con, struct archiving_args *args, char **output)
{
	_cleanup_free_ char *name = NULL;
	struct stat st;
	int r;

	if (stat(args->output, &st) || !S_ISDIR(st.st_mode))
		return 0;
	r = archive_name(args->capture, &name);
	if (!r) {
		*output = strfmt("%s/%s", args->output, name);
		r = *output ? 0 : -ENOMEM;
	}
	if (r)
		console_error(con, "'%s' cannot be archived: %s", args->capture, strerror(-r));
	else
		args->output = *output;
	return r;
}

static enum exit_code run(struct console *con, int argc, char **argv)
{
	_cleanup_free_ char *folder = NULL;
	_cleanup_free_ char *output = NULL;
	struct archiving_args args;
	int r = archiving_parse(&args, con, argc, argv);

	if (r)
		return command_options_exit(r);
	if (!strcmp(args.output, "-") && isatty(STDOUT_FILENO)) {
		console_error(con, "--output '-': standard output is a terminal (use a file or a "
				   "pipe)");
		return EXIT_USAGE;
	}
	if (reader_begin(con, 0,
			 strcmp(args.output, "-") ? ": nothing is written"
						  : ": the archive is incomplete") ||
	    folder_choose(con, args.capture, &folder))
		return EXIT_FAILED;
	args.capture = folder;
	if (choose_output(con, &args, &output))
		return EXIT_FAILED;
	return archiving_run(con, &args);
}

const struct command command_archive = {
	.name = "archive",
	.summary = "Pack a capture into one file that other machines can read.",
	.arguments = "[CAPTURE] -o FILE|DIR|- [OPTIONS]",
	.notes = notes,
	COMMAND_OPTIONS(options),
	.run = run,
};
