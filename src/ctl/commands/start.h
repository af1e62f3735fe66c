/* SPDX-License-Identifier: GPL-2.0-only */
/* The command `start`: from its command line to the options of a session. */
#ifndef CTL_COMMANDS_START_H
#define CTL_COMMANDS_START_H

#include "cli/command.h"
#include "session/results.h"
#include "session/targets.h"

struct start_args {
	struct perf_poke_opts opts;
	struct perf_poke_event *events; /* names are copies, filters are not */
	size_t nr_events;
	size_t last_events; /* index of the first event of the last --event */
	struct target_args targets;
	uint64_t duration_ns;
	struct perf_poke_trigger triggers[KINDS_MAX];
	size_t nr_triggers;
	const char *span;	  /* NAME=ENTRY..EXIT */
	const char *span_trigger; /* NAME=TIME of --trigger */
	const char *log;	  /* NULL: standard error, or the choice of --detach */
	const char *known;	  /* or NULL */
	bool detach;
	bool json, top, histogram;
	bool verbose;
};

/* Returns as command_options(). Strings are not copied. Call start_release() even on failure. */
int start_parse(struct start_args *args, struct console *con, int argc, char **argv) _must_check_;

void start_release(struct start_args *args);

#endif
