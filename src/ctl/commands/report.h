/* SPDX-License-Identifier: GPL-2.0-only */
/* The command `report`. */
#ifndef CTL_COMMANDS_REPORT_H
#define CTL_COMMANDS_REPORT_H

#include "cli/command.h"

struct report_args {
	const char *capture;
	const char *archive;	     /* archive with the capture, or NULL */
	const char *against;	     /* or NULL */
	const char *against_archive; /* that has it, or NULL */
	const char *symfs;	     /* or NULL */
	uint64_t window_ns;	     /* 0: default */
	uint64_t top;
	uint64_t activations; /* with `normal` */
	bool normal;
	bool json;
};

/* Returns as command_options(). Strings are not copied. */
int report_parse(struct report_args *args, struct console *con, int argc, char **argv) _must_check_;

#endif
