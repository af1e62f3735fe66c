/* SPDX-License-Identifier: GPL-2.0-only */
/* The command `start`: from its command line to the options of a session. */
#ifndef CTL_COMMANDS_START_H
#define CTL_COMMANDS_START_H

#include "cli/command.h"
#include "session/follow.h"
#include "session/results.h"
#include "session/targets.h"

struct start_args {
	struct perf_poke_opts opts;
	struct target_args targets;
	uint64_t duration_ns;
	const char *log; /* NULL: standard error, or the choice of --detach */
	struct follow_opts follow;
	bool detach;
	bool json, top, histogram;
	bool verbose;
};

/* Returns as command_options(). Strings other than those of opts are not copied. Call
 * start_release() even on failure. */
int start_parse(struct start_args *args, struct console *con, int argc, char **argv) _must_check_;

void start_release(struct start_args *args);

#endif
