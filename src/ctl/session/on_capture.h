/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs a command for each capture, a few at once, for a limited time. It inherits the session's
 * CPUs, without its priority. A failure is a warning. */
#ifndef CTL_SESSION_ON_CAPTURE_H
#define CTL_SESSION_ON_CAPTURE_H

#include <stdint.h>
#include <sys/types.h>

#include "cli/console.h"

#define ON_CAPTURE_AT_ONCE 2
#define ON_CAPTURE_NS UINT64_C(60000000000)

struct on_capture_job {
	char **environment; /* NAME=VALUE, NULL-terminated, beside the session's own */
	char *input;
	char *capture; /* path */
};

struct on_capture {
	const char *command; /* of the shell; NULL: none */
	uint64_t limit_ns;
	struct on_capture_job *waiting;
	size_t nr;
	struct on_capture_run {
		struct on_capture_job job;
		int pidfd; /* -1: none */
		pid_t pid; /* and process group */
		uint64_t end_ns;
	} runs[ON_CAPTURE_AT_ONCE];
	size_t failed; /* commands so far */
};

void on_capture_init(struct on_capture *o, const char *command, uint64_t limit_ns);

/* Takes the members of the job. */
int on_capture_add(struct on_capture *o, struct console *con,
		   struct on_capture_job *job) _must_check_;

/* Takes those that have ended, kills those over their time, and begins others. */
void on_capture_handle(struct on_capture *o, struct console *con);

bool on_capture_is_busy(const struct on_capture *o);
uint64_t on_capture_due(const struct on_capture *o);

/* Kills those that run, drops those that wait. Returns how many. */
size_t on_capture_release(struct on_capture *o);

#endif
