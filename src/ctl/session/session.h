/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One run of `start`: from arming to the results.
 *
 * session/ runs a session and the perf that it pokes, and shows results and other sessions. It may
 * include cli/; it reads no captures.
 */
#ifndef CTL_SESSION_SESSION_H
#define CTL_SESSION_SESSION_H

#include "cli/command.h"
#include "session/targets.h"

struct detach;

/* What is shown besides. */
struct session_view {
	bool top;	/* a table each second */
	bool histogram; /* as rtla's, at the end */
};

/*
 * Blocks until opts->max_captures are complete, duration_ns has passed since arming (0: no limit),
 * SIGINT, SIGTERM or SIGHUP comes, somebody stops the session from outside, or there is nobody left
 * to poke; without a name in opts it has the process id for one. Prints everything. The log and
 * callbacks of opts are not used. `detach` is that of the child whose caller waits for the session
 * to be armed, or NULL.
 */
enum exit_code session_run(struct console *con, const struct perf_poke_opts *opts,
			   const struct target_args *targets, uint64_t duration_ns,
			   struct detach *detach, const struct session_view *view);

#endif
