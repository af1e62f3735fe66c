/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The arguments of `script`.
 *
 * script/ prints a trace as text where there is no perf. It may include capture/.
 */
#ifndef CTL_SCRIPT_SCRIPT_H
#define CTL_SCRIPT_SCRIPT_H

#include "capture/capture_file.h"
#include "cli/command.h"

struct script_args {
	const char *capture;
	struct view_options view;
	bool insns;
	bool dry_run;
	bool quiet;
};

#endif
