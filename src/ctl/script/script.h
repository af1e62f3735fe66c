/* SPDX-License-Identifier: GPL-2.0-only */
/* From the command line of `script` to what is to be shown. */
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

/* Returns as command_options(). The result refers to argv. */
int script_parse(struct script_args *args, struct console *con, int argc, char **argv) _must_check_;

/* What is in the folder of a capture, and the path of its perf.data, for the caller to free: that
 * perf can be let at it has been checked. *data is NULL if the perf that was poked has the trace.
 * Returns 0, or a negative errno and the error has been printed. */
int script_read_capture(struct console *con, const char *folder, struct capture_file *capture,
			char **data) _must_check_;

/* The same, but without a trace it fails. */
int script_read_trace(struct console *con, const char *folder, struct capture_file *capture,
		      char **data) _must_check_;

/* Whether what needs the times of the trace cannot be done: then that is said. */
bool script_lacks_times(struct console *con, const char *folder,
			const struct view_capture *capture);

/* For perf's --buildid-dir: the folder with files that were traced, if the capture has one, as what
 * was opened from an archive has; else NULL. For the caller to free. Returns 0 or -ENOMEM. */
int script_buildid_dir(const char *folder, char **buildid_dir) _must_check_;

/* A command line, for a shell. */
enum exit_code script_print_words(struct console *con, char *const *argv);

#endif
