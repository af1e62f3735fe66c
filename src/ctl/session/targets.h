/* SPDX-License-Identifier: GPL-2.0-only */
/* The options of `start` that concern targets and are not of the library. */
#ifndef CTL_SESSION_TARGETS_H
#define CTL_SESSION_TARGETS_H

#include <perf_poke.h>

#include "session/perf_record.h"

#define TARGETS_MAX 16

struct target_args {
	const char *housekeeping;
	char **command;		   /* after `--`, NULL-terminated; or NULL */
	struct perf_record record; /* of the command */
};

/* Checks combinations of options and parses the command. Returns 0, or a negative errno with *why
 * (allocated). */
int targets_check(struct target_args *targets, const struct perf_poke_opts *opts,
		  char **why) _must_check_;

#endif
