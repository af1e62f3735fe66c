/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The command `script`.
 *
 * script/ prints a trace as text if there is no perf. It may include capture/.
 */
#ifndef CTL_SCRIPT_SCRIPT_H
#define CTL_SCRIPT_SCRIPT_H

#include "capture/capture_file.h"
#include "capture/view.h"
#include "cli/cli.h"

struct script_args {
	const char *capture;
	struct view_options view;
	bool insns;
	bool dry_run;
	bool quiet;
};

/* Returns as command_options(). Strings are not copied. */
int script_parse(struct script_args *args, struct console *con, int argc, char **argv) _must_check_;

/* Gets the CPUs to show: an allocated list, or that of the spike; none for all. Returns 0 or a
 * negative errno. */
int script_cpus(const struct script_args *args, const struct facts *facts, int **cpus,
		size_t *nr) _must_check_;

/* Prints Intel PT as function entries, indented by depth. */
enum exit_code script_calls(struct console *con, const struct script_args *args,
			    const struct facts *facts, const char *data);

/* Prints events as perf script does. */
enum exit_code script_events(struct console *con, const struct script_args *args,
			     const struct facts *facts, const char *data);

#endif
