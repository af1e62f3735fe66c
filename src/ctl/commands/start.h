/* SPDX-License-Identifier: GPL-2.0-only */
/* From the command line of `start` to the options of a session. */
#ifndef CTL_COMMANDS_START_H
#define CTL_COMMANDS_START_H

#include "cli/command.h"
#include "session/results.h"
#include "session/targets.h"

struct start_args {
	struct perf_poke_opts opts;
	struct perf_poke_event *events; /* names are copies, filters are not */
	size_t nr_events;
	size_t last_events; /* the first of those that the last --event added */
	struct target_args targets;
	uint64_t duration_ns;
	struct perf_poke_trigger triggers[KINDS_MAX];
	size_t nr_triggers;
	const char *log; /* NULL: standard error, or the choice of --detach */
	bool detach;
	bool json, top, histogram;
	bool verbose;
};

/* Returns as command_options(). The result refers to argv. Release it whatever is returned. */
int start_parse(struct start_args *args, struct console *con, int argc, char **argv) _must_check_;

void start_release(struct start_args *args);

#endif
