// SPDX-License-Identifier: GPL-2.0-only
/* Reads a CPU's counters from kernel memory on another CPU, without disturbing the first. */
#include "kernel_types.h"

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

#define CPUS_MAX 8192
#define NONE ((__u64)-1)

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

/* Addresses by CPU; 0: unknown. */
__u64 rqs[CPUS_MAX] = {};
/* The request and the answer. */
__u32 cpu = 0;
__u64 steal_ns = 0;

/* Not all kernels export the symbol of the run queues, but each task points to the one it was last
 * on. */
SEC("iter/task")
int hardware_find(struct bpf_iter__task *ctx)
{
	struct task_struct___fair *task = (void *)ctx->task;
	struct rq *rq;
	__u32 of;

	if (!task || !bpf_core_field_exists(task->se.cfs_rq->rq))
		return 0;
	rq = BPF_CORE_READ(task, se.cfs_rq, rq);
	of = BPF_CORE_READ(rq, cpu);
	if (rq && of < CPUS_MAX)
		rqs[of] = (__u64)rq;
	return 0;
}

SEC("syscall")
int hardware_read(void *ctx)
{
	struct rq *rq = cpu < CPUS_MAX ? (void *)rqs[cpu] : NULL;
	__u64 ns = 0;

	(void)ctx;
	steal_ns = NONE;
	if (!rq || !bpf_core_field_exists(rq->prev_steal_time))
		return 0;
	steal_ns = BPF_CORE_READ(rq, prev_steal_time);
	if (bpf_core_field_exists(rq->prev_steal_time_rq))
		ns = BPF_CORE_READ(rq, prev_steal_time_rq);
	if (ns > steal_ns)
		steal_ns = ns;
	return 0;
}
