/* SPDX-License-Identifier: GPL-2.0-only */
/* One run of `start`: from arming to the results. */
#ifndef CTL_SESSION_H
#define CTL_SESSION_H

#include "command.h"

/*
 * Blocks until opts->max_captures are complete, duration_ns has passed since arming (0: no limit),
 * or SIGINT or SIGTERM comes. Prints everything. The log and callbacks of opts are not used.
 */
enum exit_code session_run(struct console *con, const struct perf_poke_opts *opts,
			   uint64_t duration_ns);

#endif
