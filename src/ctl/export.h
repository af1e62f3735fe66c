/* SPDX-License-Identifier: GPL-2.0-only */
/* From the command line of `export` to perf's. */
#ifndef CTL_EXPORT_H
#define CTL_EXPORT_H

#include "command.h"
#include "perf_tool.h"
#include "view.h"

/* Where perf's dlfilter tells how far it is. */
#define EXPORT_PROGRESS_FD PERF_TOOL_EXTRA_FD

enum export_axis {
	EXPORT_TIME,
	EXPORT_CYCLES,
	EXPORT_INSNS,
};

struct export_args {
	const char *capture;
	const char *output; /* or NULL: `html` is there */
	const char *html;
	const char *time; /* or NULL */
	int axis;	  /* enum export_axis */
	int tracks;
	uint64_t split_ns; /* 0: one file */
	uint64_t jobs;	   /* 0: as many as pay */
	bool force;
	bool dry_run;
	bool quiet;
	char **rest;
};

/* Returns as command_options(). The result refers to argv. */
int export_parse(struct export_args *args, struct console *con, int argc, char **argv) _must_check_;

/* Perf's command line, for view_free_argv(): `dlfilter` writes to `output`. Returns 0 or -ENOMEM.
 */
int export_argv(const struct export_args *args, const struct view_capture *capture,
		const char *perf, const char *dlfilter, const char *data, const char *output,
		char ***argv) _must_check_;

struct trace_slice;

/* As export_argv(), of a perf that decodes one slice, and whose filter writes what it sees to
 * `events`. */
int export_slice_argv(const struct export_args *args, const char *perf, const char *dlfilter,
		      const char *data, const char *events, const struct trace_slice *slice,
		      char ***argv) _must_check_;

/* Perf, and the filter for it, which is for the caller to free. Returns 0, or a negative errno and
 * the error has been printed. */
int export_find_tools(struct console *con, struct perf_tool *perf, char **dlfilter) _must_check_;

/* A page instead, for export.c. The error has been printed if it is not there. */
enum exit_code export_html(struct console *con, const struct export_args *args,
			   const struct view_capture *capture);

/* How perf fared with that. */
struct export_result {
	uint64_t slices, gaps; /* gaps: where trace is missing */
	uint64_t errors;       /* of decoding */
	char *error;	       /* the first of these */
	char *complaint;       /* what perf, or the filter, said last if it failed */
	int status;	       /* of perf, as waitpid() has it */
	bool done;
	bool interrupted;
};

/* Runs perf to its end; progress is shown on a terminal. Returns 0 or a negative errno: of running
 * it, not its own failures. */
int export_run(struct console *con, const struct view_capture *capture, char *const *argv,
	       struct export_result *result) _must_check_;
void export_result_release(struct export_result *result);

#endif
