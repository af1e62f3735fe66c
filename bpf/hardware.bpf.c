// SPDX-License-Identifier: GPL-2.0-only
/* Reads a CPU's counters from kernel memory on another CPU, without disturbing the first. */
#include "steal.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define CPUS_MAX 8192

/* Addresses by CPU; 0: unknown. */
__u64 rqs[CPUS_MAX] = {};
/* The request and the answer. */
__u32 cpu = 0;
__u64 steal_ns = 0;

/* Not all kernels export the symbol of the run queues, but each task points to its last one. */
SEC("iter/task")
int hardware_find(struct bpf_iter__task *ctx)
{
	const struct task_struct *task = ctx->task;
	struct rq *rq;
	__u32 of;

	if (!task)
		return 0;
	/* Use the register that was checked. */
	barrier_var(task);
	rq = steal_run_queue_of(task);
	if (!rq)
		return 0;
	of = BPF_CORE_READ(rq, cpu);
	if (of < CPUS_MAX)
		rqs[of] = (__u64)rq;
	return 0;
}

SEC("syscall")
int hardware_read(void *ctx)
{
	steal_ns = steal_ns_of_run_queue(cpu < CPUS_MAX ? (void *)rqs[cpu] : NULL);
	return 0;
}
