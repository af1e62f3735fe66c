/* SPDX-License-Identifier: GPL-2.0-only */
/* The command `archive`. */
#ifndef CTL_BUNDLE_ARCHIVE_H
#define CTL_BUNDLE_ARCHIVE_H

#include "cli/command.h"

struct archiving_args {
	const char *capture;
	const char *output;
	bool force;
	bool no_binaries;
	bool quiet;
};

/* Returns as command_options(). Strings are not copied. */
int archiving_parse(struct archiving_args *args, struct console *con, int argc,
		    char **argv) _must_check_;

/* Writes the archive and prints errors. */
enum exit_code archiving_run(struct console *con, const struct archiving_args *args);

/* Allocates the name of the folder in the archive: the capture's own, or LAYOUT_ANY_NAME. Returns 0
 * or a negative errno. */
int archiving_top(const char *folder, char **top) _must_check_;

#endif
