/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs a session in the background once it is armed. */
#ifndef CTL_SESSION_DETACH_H
#define CTL_SESSION_DETACH_H

#include "cli/cli.h"

struct detach {
	const char *where; /* value of --log; NULL: choose */
	struct logger log; /* used once the session is armed */
	int caller;	   /* pipe to the waiting caller */
};

/*
 * Forks a child without terminal (setsid) that keeps only standard output and error.
 *
 * Returns 0 in the child. In the caller, waits until the child is armed or has exited, and returns
 * 1 with *code. Returns a negative errno after printing the error if there is no child.
 */
int detach_fork(struct detach *detach, struct console *con, enum exit_code *code) _must_check_;

/*
 * Called when the session is armed: prints where it is, redirects output to the log, which may be a
 * file in the output folder `output_fd`, and releases the caller. Returns 0, or a negative errno
 * after printing the error.
 */
int detach_release(struct detach *detach, struct console *con, const struct perf_poke_opts *opts,
		   int output_fd) _must_check_;

#endif
