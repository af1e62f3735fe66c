// SPDX-License-Identifier: GPL-2.0-only
#include "bundle/archive.h"

#include <string.h>

#include "capture/folder.h"
#include "cli/output_file.h"
#include "commands/commands.h"

#define TARGET(member) .offset = offsetof(struct archiving_args, member)

static const struct option_spec options[] = {
	{ NULL, 0, OPTION_WORD, TARGET(capture), .metavar = "CAPTURE",
	  .help = FOLDER_CAPTURE_HELP },
	{ "output", 'o', OPTION_STRING, .required = true, TARGET(output), .metavar = "FILE",
	  .help = "output file, such as spike.tar.zst; - for standard output" },
	{ "force", 'f', OPTION_FLAG, TARGET(force), .help = OUTPUT_FORCE_HELP },
	{ "no-binaries", 0, OPTION_FLAG, TARGET(no_binaries),
	  .help = "leave out the traced programs and libraries" },
	{ "quiet", 'q', OPTION_FLAG, TARGET(quiet), .help = "print warnings and errors only" },
};

static const char notes[] =
	"Run this on the machine of the capture: facts of the machine and the traced files are\n"
	"added from here. Any other machine reads the archive with perf-poke-ctl open FILE,\n"
	"without root.\n"
	"\n"
	"Exit codes: 0 archive written, 1 failed (no file), 2 usage.\n";

int archiving_parse(struct archiving_args *args, struct console *con, int argc, char **argv)
{
	*args = (struct archiving_args){ 0 };
	return command_options(&command_archive, con, argc, argv, args);
}

static enum exit_code run(struct console *con, int argc, char **argv)
{
	_cleanup_free_ char *folder = NULL;
	struct archiving_args args;
	int r = archiving_parse(&args, con, argc, argv);

	if (r)
		return command_options_exit(r);
	if (!strcmp(args.output, "-") && isatty(STDOUT_FILENO)) {
		console_error(con, "--output '-': standard output is a terminal (use a file or a "
				   "pipe)");
		return EXIT_USAGE;
	}
	if (folder_choose(con, args.capture, &folder))
		return EXIT_FAILED;
	args.capture = folder;
	return archiving_run(con, &args);
}

const struct command command_archive = {
	.name = "archive",
	.summary = "Pack a capture, with what is needed to read it elsewhere, into one file.",
	.arguments = "[CAPTURE] -o FILE [OPTIONS]",
	.notes = notes,
	COMMAND_OPTIONS(options),
	.run = run,
};
