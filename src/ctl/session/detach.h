/* SPDX-License-Identifier: GPL-2.0-only */
/* A session that goes on in the background, once it is armed. */
#ifndef CTL_SESSION_DETACH_H
#define CTL_SESSION_DETACH_H

#include "cli/command.h"

struct detach {
	const char *where; /* as --log has it; NULL: to be chosen */
	struct logger log; /* that of `where`, for when the session is armed */
	int caller;	   /* who waits until then */
};

/*
 * Goes on in a child, in a session of the kernel's sense that has no terminal, without the caller's
 * descriptors but standard output and error.
 *
 * Returns 0 in the child. In the caller waits until the child is armed or has ended, and returns 1
 * with *code set. Where there is no child, a negative errno, and the error has been printed.
 */
int detach_fork(struct detach *detach, struct console *con, enum exit_code *code) _must_check_;

/*
 * The session is armed: says where it is, sends what comes to the log from now on, which may be in
 * the folder for captures, `output_fd`, and lets the caller go. Returns 0, or a negative errno and
 * the error has been printed.
 */
int detach_release(struct detach *detach, struct console *con, const struct perf_poke_opts *opts,
		   int output_fd) _must_check_;

#endif
