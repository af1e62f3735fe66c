/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A target: from a PID to a task that cannot be mistaken for another. */
#ifndef LIB_TRIGGER_TARGET_H
#define LIB_TRIGGER_TARGET_H

#include "base/log.h"
#include "bpf/poke.h"

struct target {
	int tid;   /* as the caller sees it */
	int tgid;  /* its process, as the caller sees it */
	int pidfd; /* of the process */
	char comm[16];
	struct poke_target task;
};

/* The task that a number means in our pid namespace: what identifies it is filled in. -ESRCH: there
 * is none. */
int target_find(int pid, struct poke_target *task);

/* Finds a target, and refuses one that the signal would kill, or that is not perf. Says why not:
 * -ESRCH, -EINVAL, -EPERM. */
int target_open(struct target *target, const struct perf_poke_target *wanted,
		const struct log *log);

/* Signals it from here, right after a look: see trigger_look(). Returns 0, or -ESRCH: it has ended.
 */
int target_signal(const struct target *target);

void target_close(struct target *target);

#endif
