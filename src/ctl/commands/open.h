/* SPDX-License-Identifier: GPL-2.0-only */
/* The command `open`. */
#ifndef CTL_COMMANDS_OPEN_H
#define CTL_COMMANDS_OPEN_H

#include "cli/command.h"

struct open_args {
	const char *file;
	const char *output; /* NULL: the name in the archive */
	uint64_t max_size;
	bool quiet;
};

/* Returns as command_options(). Strings are not copied. */
int open_parse(struct open_args *args, struct console *con, int argc, char **argv) _must_check_;

#endif
