/* SPDX-License-Identifier: GPL-2.0-only */
/* The trace of a capture: where it is, and what reading it needs. */
#ifndef CTL_CAPTURE_CAPTURE_TRACE_H
#define CTL_CAPTURE_CAPTURE_TRACE_H

#include "capture/capture_file.h"
#include "cli/console.h"

/* What is in the folder of a capture, and the path of its perf.data, for the caller to free: that
 * perf can be let at it has been checked. *data is NULL if the perf that was poked has the trace.
 * Returns 0, or a negative errno and the error has been printed. */
int capture_trace_find(struct console *con, const char *folder, struct capture_file *capture,
		       char **data) _must_check_;

/* The same, but without a trace it fails. */
int capture_trace_need(struct console *con, const char *folder, struct capture_file *capture,
		       char **data) _must_check_;

/* Whether what needs the times of the trace cannot be done: then that is said. */
bool capture_trace_lacks_times(struct console *con, const char *folder,
			       const struct view_capture *capture);

/* For perf's --buildid-dir: the folder with files that were traced, if the capture has one, as what
 * was opened from an archive has; else NULL. For the caller to free. Returns 0 or -ENOMEM. */
int capture_trace_buildid_dir(const char *folder, char **buildid_dir) _must_check_;

#endif
