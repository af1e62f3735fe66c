/* SPDX-License-Identifier: GPL-2.0-only */
/* From the command line of `archive` to what is to be written. */
#ifndef CTL_COMMANDS_ARCHIVE_H
#define CTL_COMMANDS_ARCHIVE_H

#include "bundle/pack.h"
#include "capture/capture_file.h"
#include "cli/command.h"

struct archiving_args {
	const char *capture;
	const char *output;
	bool force;
	bool no_binaries;
	bool quiet;
};

/* Returns as command_options(). The result refers to argv. */
int archiving_parse(struct archiving_args *args, struct console *con, int argc,
		    char **argv) _must_check_;

/* The folder's own name, as that of the folder in the archive, for the caller to free, if it is one
 * that captures have. Returns 0 or a negative errno. */
int archiving_top(const char *folder, char **top) _must_check_;

#endif
