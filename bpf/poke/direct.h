/* SPDX-License-Identifier: GPL-2.0-only */
/* direct, Linux 6.13: the interrupt signals the target at once. The kernel refuses if no user task
 * was interrupted, that is, in idle and in kernel threads. */
#ifndef POKE_DIRECT_H
#define POKE_DIRECT_H

#include "cpus.h"

extern int bpf_send_signal_task(struct task_struct *task, int signal, enum pid_type type,
				__u64 value) __weak __ksym;

static __always_inline int poke_direct(struct task_struct *task, int signal)
{
	return bpf_send_signal_task(task, signal, PIDTYPE_PID, 0);
}

#endif
