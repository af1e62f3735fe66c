/* SPDX-License-Identifier: GPL-2.0-only */
/* The installed perf and trace-cmd, and their commands that show a capture. */
#ifndef CTL_PERF_SCRIPT_H
#define CTL_PERF_SCRIPT_H

#include <stdbool.h>
#include <stdint.h>

#include "facts/facts.h"
#include "util.h"

struct perf_tool {
	char *path;
	char version[128]; /* such as `perf version 6.1.192` */
};

/* Finds a program in $PATH, unless its name has a slash. Returns 0, -ENOENT or -ENOMEM. */
int perf_tool_search(const char *name, char **path) _must_check_;

/* Finds perf: $PERF_POKE_PERF, else in $PATH. Returns 0, or a negative errno with *why (allocated).
 */
int perf_tool_find(struct perf_tool *perf, char **why) _must_check_;

/* Whether perf was built with a disassembler. */
bool perf_tool_disassembles(const struct perf_tool *perf);

/* Runs a command; take() gets each line of its standard output, and with `errors` of its standard
 * error, without newline. Returns the exit status, or a negative errno. */
int perf_tool_lines(char *const *argv, bool errors, void (*take)(void *ctx, char *line),
		    void *ctx) _must_check_;

void perf_tool_release(struct perf_tool *perf);

#define VIEW_WINDOW_PT_NS UINT64_C(200000)
#define VIEW_WINDOW_EVENTS_NS UINT64_C(10000000)
#define VIEW_WINDOW_FTRACE_NS UINT64_C(1000000)

enum view_insns {
	VIEW_INSNS_NONE, /* calls and returns */
	VIEW_INSNS_RAW,
	VIEW_INSNS_XED,
	VIEW_INSNS_DISASM,
};

struct view_options {
	uint64_t window_ns; /* before the spike; 0: default of the recorder */
	bool all;	    /* no window */
	bool all_cpus;
	const char *cpus; /* a list; NULL: the spike's CPU, unless all_cpus */
	enum view_insns insns;
	const char *buildid_dir; /* or NULL */
	const char *symfs;	 /* or NULL */
	char **rest;		 /* more arguments, NULL-terminated; or NULL */
};

/* Builds a NULL-terminated argv for argv_free_words(). Returns 0 or -ENOMEM. */
int perf_script_argv(const struct facts *facts, const struct view_options *options,
		     const char *perf, const char *data, char ***argv) _must_check_;

/* The same of trace-cmd, which knows no window of time. */
int trace_cmd_report_argv(const struct facts *facts, const struct view_options *options,
			  const char *trace_cmd, const char *data, char ***argv) _must_check_;

#endif
