/* SPDX-License-Identifier: GPL-2.0-only */
/* From the command line of `script` to what is to be shown. */
#ifndef CTL_SCRIPT_H
#define CTL_SCRIPT_H

#include "command.h"
#include "view.h"

struct script_args {
	const char *capture;
	struct view_options view;
	bool insns;
	bool dry_run;
	bool quiet;
};

/* Returns as command_options(). The result refers to argv. */
int script_parse(struct script_args *args, struct console *con, int argc, char **argv) _must_check_;

#endif
