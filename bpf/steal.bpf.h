/* SPDX-License-Identifier: GPL-2.0-only */
/* Steal time of a CPU as the scheduler counts it: at each wakeup, switch and tick. */
#ifndef STEAL_BPF_H
#define STEAL_BPF_H

#include "kernel_types.h"

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define STEAL_UNKNOWN ((__u64)-1)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct rq {
	int cpu;
	/* Steal time in ns up to the last tick, and to the last event of the scheduler. */
	__u64 prev_steal_time;
	__u64 prev_steal_time_rq;
};

struct cfs_rq {
	struct rq *rq;
};

struct sched_entity {
	struct cfs_rq *cfs_rq;
};

struct task_struct___fair {
	struct sched_entity se;
};

#pragma clang attribute pop

/* Run queue of the task; NULL: unknown. */
static __always_inline struct rq *steal_run_queue_of(const struct task_struct *task)
{
	const struct task_struct___fair *fair = (const void *)task;

	return bpf_core_field_exists(fair->se.cfs_rq->rq) ? BPF_CORE_READ(fair, se.cfs_rq, rq)
							  : NULL;
}

static __always_inline __u64 steal_ns_of_run_queue(struct rq *rq)
{
	__u64 ns, seen = 0;

	if (!rq || !bpf_core_field_exists(rq->prev_steal_time))
		return STEAL_UNKNOWN;
	ns = BPF_CORE_READ(rq, prev_steal_time);
	if (bpf_core_field_exists(rq->prev_steal_time_rq))
		seen = BPF_CORE_READ(rq, prev_steal_time_rq);
	return seen > ns ? seen : ns;
}

#endif
