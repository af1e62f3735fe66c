/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs a session for `start`, from arming to the results.
 *
 * session/ runs a session and the perf that it pokes, and prints results and other sessions. It may
 * include cli/ and does not read captures.
 */
#ifndef CTL_SESSION_SESSION_H
#define CTL_SESSION_SESSION_H

#include "cli/cli.h"
#include "session/follow.h"
#include "session/targets.h"

struct detach;

struct session_view {
	bool top; /* a table each second */
	struct follow_opts follow;
};

/*
 * Blocks until opts->max_captures are complete, duration_ns has passed since arming (0: no limit),
 * a signal of ending.h arrives, another process stops the session, or no target is left. Without a
 * name in opts, the session is named by its PID. Overrides the log and the callbacks of opts.
 * Prints everything. `detach` is the child's, or NULL.
 */
enum exit_code session_run(struct console *con, const struct perf_poke_opts *opts,
			   const struct target_args *targets, uint64_t duration_ns,
			   struct detach *detach, const struct session_view *view);

#endif
