/* SPDX-License-Identifier: GPL-2.0-only */
/* From the command line of `start` to the options of a session. */
#ifndef CTL_COMMANDS_START_H
#define CTL_COMMANDS_START_H

#include "cli/command.h"
#include "session/targets.h"

#define START_WARMUP_NS UINT64_C(10000000000)
/* The threshold of --adaptive without --threshold. */
#define START_NO_FLOOR_NS 1

struct start_args {
	struct perf_poke_opts opts;
	struct perf_poke_event *events; /* names are copies, filters are not */
	size_t nr_events;
	size_t last_events; /* the first of those that the last --event added */
	struct target_args targets;
	uint64_t duration_ns;
	struct perf_poke_trigger triggers[4];
	size_t nr_triggers;
	const char *log; /* NULL: standard error, or the choice of --detach */
	bool detach;
	bool json, top, histogram;
	bool verbose;
};

/* Returns as command_options(). The result refers to argv. Release it whatever is returned. */
int start_parse(struct start_args *args, struct console *con, int argc, char **argv) _must_check_;

void start_release(struct start_args *args);

/* Whether only what --adaptive measures says what the threshold is. */
static inline bool start_no_floor(const struct perf_poke_opts *opts, uint64_t threshold_ns)
{
	return opts->adaptive_percent > 0 && threshold_ns == START_NO_FLOOR_NS;
}

#endif
