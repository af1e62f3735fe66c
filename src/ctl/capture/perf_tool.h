/* SPDX-License-Identifier: GPL-2.0-only */
/* The perf that is installed, and what it can do: found out by trying. */
#ifndef CTL_CAPTURE_PERF_TOOL_H
#define CTL_CAPTURE_PERF_TOOL_H

#include <stdbool.h>

#include "util.h"

struct perf_tool {
	char *path;
	char version[128]; /* as `perf version 6.1.192` */
};

/* Where a program is: in $PATH, or at `name` itself if that has a slash. Returns 0, -ENOENT or
 * -ENOMEM. */
int perf_tool_search(const char *name, char **path) _must_check_;

/* Finds perf: $PERF_POKE_PERF, else in $PATH. Returns 0, or a negative errno with *why, for the
 * caller to free, saying what to do. */
int perf_tool_find(struct perf_tool *perf, char **why) _must_check_;

/* Whether $PERF_POKE_PERF names one. */
bool perf_tool_is_named(void);

/* Whether it shows instructions as assembler by itself. */
bool perf_tool_disassembles(const struct perf_tool *perf);

/* Runs a command to its end; take() gets each line of its standard output, without its end, and
 * with `said` of its standard error. Returns its exit status, or a negative errno. */
int perf_tool_lines(char *const *argv, bool said, void (*take)(void *ctx, char *line),
		    void *ctx) _must_check_;

void perf_tool_release(struct perf_tool *perf);

#endif
