/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Targets: identifies a task by PID, and never signals another. */
#ifndef LIB_TRIGGER_TARGET_H
#define LIB_TRIGGER_TARGET_H

#include "base/base.h"
#include "bpf/poke.h"

struct target {
	int tid;   /* as the caller sees it */
	int tgid;  /* its process, as the caller sees it */
	int pidfd; /* of the process */
	char comm[16];
	struct poke_target task;
};

/* Identifies the task of an ID in our PID namespace. -ESRCH: none. */
int target_find(int pid, struct poke_target *task);

/* Finds a target. Refuses, with a message, one that is not perf or that the signal would kill:
 * -ESRCH, -EINVAL, -EPERM. */
int target_open(struct target *target, const struct perf_poke_target *wanted,
		const struct log *log);

/* Sends the signal. Call trigger_look() right before. -ESRCH: the target has ended.
 */
int target_signal(const struct target *target);

void target_close(struct target *target);

#endif
