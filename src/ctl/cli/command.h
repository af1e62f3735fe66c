/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Commands of perf-poke-ctl and their dispatch.
 *
 * cli/ parses the command line and writes results, messages and files. It may include src/shared
 * and the public library only.
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
	EXIT_NEW_CAUSE = 4,
};

struct command {
	const char *name;
	const char *summary;   /* one line of the command list; NULL: unlisted */
	const char *arguments; /* after the name in the usage line */
	const char *notes;     /* after the options in --help */
	const struct option_spec *options;
	size_t nr_options;
	/* argv[0] is the program, argv[1] the command. */
	enum exit_code (*run)(struct console *con, int argc, char **argv);
};

/* For the two members of struct command. */
#define COMMAND_OPTIONS(rows) .options = (rows), .nr_options = ARRAY_SIZE(rows)

/* Parses options into target. Returns 0, 1 after printing --help, or a negative errno after
 * printing the error. */
int command_options(const struct command *cmd, struct console *con, int argc, char **argv,
		    void *target) _must_check_;

/* The exit code for a result of command_options() other than 0. */
enum exit_code command_options_exit(int r);

/* Runs the command that argv names; the list ends with NULL. */
enum exit_code command_dispatch(const struct command *const *commands, int argc, char **argv);

#endif
