/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Targets that are no processes, for tests that wrap what opens them. */
#ifndef FAKE_TARGET_H
#define FAKE_TARGET_H

#include <signal.h>
#include <sys/eventfd.h>

#include "delivery/delivery.h"
#include "test.h"

#define FIRST_PID 100

int __wrap_target_open(struct target *target, const struct perf_poke_target *wanted,
		       const struct log *log)
{
	*target = (struct target){
		.tid = wanted->pid,
		.tgid = wanted->pid,
		.task = { .tid = wanted->pid, .signal = SIGUSR2 },
	};
	target->pidfd = eventfd(0, EFD_CLOEXEC);
	assert_true(target->pidfd >= 0);
	return 0;
}

#endif
