/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a command of perf-poke-ctl is, and how one is chosen.
 *
 * cli/ reads the command line and writes results, messages and files. It includes src/shared and
 * the public library only.
 */
#ifndef CTL_CLI_COMMAND_H
#define CTL_CLI_COMMAND_H

#include "cli/console.h"
#include "cli/options.h"

enum exit_code {
	EXIT_FINE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_NO_SPIKE = 3,
};

struct command {
	const char *name;
	const char *summary;   /* one line, for the list of commands; NULL: not listed */
	const char *arguments; /* behind the name in the usage line */
	const char *notes;     /* after the options in --help */
	const struct option_spec *options;
	size_t nr_options;
	/* argv[0] is the program, argv[1] the command. */
	enum exit_code (*run)(struct console *con, int argc, char **argv);
};

/*
 * Reads the options of a command into target. Returns 0, 1 if it was --help and help has been
 * printed, or a negative errno and the error has been printed.
 */
int command_options(const struct command *cmd, struct console *con, int argc, char **argv,
		    void *target) _must_check_;

/* The exit code when command_options() did not return 0. */
enum exit_code command_options_exit(int r);

/* Runs the command that argv names, out of a NULL terminated list. Returns the exit code. */
enum exit_code command_dispatch(const struct command *const *commands, int argc, char **argv);

#endif
