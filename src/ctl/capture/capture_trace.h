/* SPDX-License-Identifier: GPL-2.0-only */
/* The trace of a capture. All functions print errors and return 0 or a negative errno. */
#ifndef CTL_CAPTURE_CAPTURE_TRACE_H
#define CTL_CAPTURE_CAPTURE_TRACE_H

#include "capture/capture_file.h"
#include "cli/cli.h"
#include "facts/user_code.h"

/* Opens the capture, for capture_file_close(), also on failure. */
int capture_trace_open(struct console *con, const char *folder,
		       struct capture_file *capture) _must_check_;

/* The same, and checks that perf.data, whose path is allocated in *data, is complete: perf
 * crashes or hangs on truncated files. *data is NULL if a poked perf has the trace. */
int capture_trace_find(struct console *con, const char *folder, struct capture_file *capture,
		       char **data) _must_check_;

/* The same, but a capture without trace is an error. */
int capture_trace_need(struct console *con, const char *folder, struct capture_file *capture,
		       char **data) _must_check_;

/* Whether the trace has no times; prints the error. */
bool capture_trace_lacks_times(struct console *con, const char *folder, const struct facts *facts);

/* Allocates the path for perf's --buildid-dir, which captures from archives have; else NULL.
 * Returns 0 or -ENOMEM and prints nothing. */
int capture_trace_buildid_dir(const char *folder, char **buildid_dir) _must_check_;

/* Opens the events of perf.data, and `user`, which names the functions of programs in them and
 * refers to data and symfs. user->buildid_dir is allocated. Returns 0, or a negative errno with
 * *why, or NULL. */
int capture_trace_events(struct tracepoints **tracepoints, struct user_code *user,
			 const char *folder, const char *data, const char *symfs,
			 const struct sample_window *window, char **why) _must_check_;

/* Prints an error about a capture: `why` or that of r. Returns r. */
int capture_trace_error(struct console *con, const char *folder, int r, const char *why);

#endif
