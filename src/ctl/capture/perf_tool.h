/* SPDX-License-Identifier: GPL-2.0-only */
/* The installed perf and its capabilities, which are probed by running it. */
#ifndef CTL_CAPTURE_PERF_TOOL_H
#define CTL_CAPTURE_PERF_TOOL_H

#include <stdbool.h>

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

#endif
