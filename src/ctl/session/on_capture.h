/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs a command for each capture: a few at once, each for a limited time. Commands inherit the
 * session's CPUs, not its priority. Failures are warnings. */
#ifndef CTL_SESSION_ON_CAPTURE_H
#define CTL_SESSION_ON_CAPTURE_H

#include <stdint.h>
#include <sys/types.h>

#include "cli/cli.h"

#define ON_CAPTURE_AT_ONCE 2
#define ON_CAPTURE_NS UINT64_C(60000000000)

struct on_capture_job {
	char **environment; /* NAME=VALUE, NULL-terminated, in addition to the session's own */
	char *input;
	char *capture; /* path */
};

struct on_capture {
	const char *command; /* for the shell; NULL: none */
	struct on_capture_job *waiting;
	size_t nr;
	struct on_capture_run {
		struct on_capture_job job;
		int pidfd; /* -1: none */
		pid_t pid; /* also its process group */
		uint64_t end_ns;
		bool late; /* it was killed: UINT64_MAX is its end */
	} runs[ON_CAPTURE_AT_ONCE];
	size_t failed; /* failed commands so far */
};

void on_capture_init(struct on_capture *o, const char *command);

/* Takes ownership of the members of the job. */
int on_capture_add(struct on_capture *o, struct console *con,
		   struct on_capture_job *job) _must_check_;

/* Reaps commands, kills those over their time limit, and starts the next ones. */
void on_capture_handle(struct on_capture *o, struct console *con);

bool on_capture_is_busy(const struct on_capture *o);
uint64_t on_capture_due(const struct on_capture *o);

/* Kills running commands and drops waiting ones. Returns their number. What the kernel does not let
 * die within a second is left. */
size_t on_capture_release(struct on_capture *o);

#endif
