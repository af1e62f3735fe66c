/* SPDX-License-Identifier: GPL-2.0-only */
/* From the command line of `open` to what is to be unpacked. */
#ifndef CTL_COMMANDS_OPEN_H
#define CTL_COMMANDS_OPEN_H

#include "cli/command.h"

struct open_args {
	const char *file;
	const char *output; /* NULL: by the archive's own name */
	uint64_t max_size;
	bool quiet;
};

/* Returns as command_options(). The result refers to argv. */
int open_parse(struct open_args *args, struct console *con, int argc, char **argv) _must_check_;

#endif
