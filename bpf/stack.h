/* SPDX-License-Identifier: GPL-2.0-only */
/* Stacks at a spike. The program that takes the spike records them after the freeze, so they add no
 * cost to other expiries. */
#ifndef STACK_H
#define STACK_H

#include "cpus.h"
#include "steal.h"

/* 0: off, and the map has one entry. */
const volatile __u32 has_stacks = 0;

/* Of the newest spikes, by sequence. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set to TRIGGER_RECENT before load */
	__type(key, __u32);
	__type(value, struct trigger_stacks);
} stacks SEC(".maps");

static __always_inline void stack_take(struct trigger_stack *to, void *ctx)
{
	const struct task_struct *task = (void *)bpf_get_current_task_btf();

	to->tid = task->pid;
	to->pid = task->tgid;
	to->policy = task->policy;
	to->rt_priority = task->rt_priority;
	to->nice = task->static_prio - TRIGGER_NICE_0;
	bpf_get_current_comm(to->comm, sizeof(to->comm));
	to->kernel_size = bpf_get_stack(ctx, to->kernel, sizeof(to->kernel), 0);
	to->user_size = to->build_ids_size = 0;
	if (!task->mm)
		return;
	to->user_size = bpf_get_stack(ctx, to->user, sizeof(to->user), BPF_F_USER_STACK);
	/* Addresses instead, if the task's mappings cannot be locked, as in an interrupt with
	 * PREEMPT_RT. */
	to->build_ids_size = bpf_get_stack(ctx, to->build_ids, sizeof(to->build_ids),
					   BPF_F_USER_STACK | BPF_F_USER_BUILD_ID);
}

/* The stack of the running or interrupted task. */
static __noinline int stack_at_spike(void *ctx, __u64 sequence)
{
	__u32 key = sequence % TRIGGER_RECENT;
	struct trigger_stacks *to = has_stacks ? bpf_map_lookup_elem(&stacks, &key) : NULL;

	if (!to)
		return 0;
	to->sequence = 0;
	barrier();
	stack_take(&to->spike, ctx);
	to->holder.since_ns = 0;
	to->steal_ns = steal_ns_of(steal_rq((void *)bpf_get_current_task_btf()));
	barrier();
	to->sequence = sequence;
	return 0;
}

/* By CPU: the stack of the task that was last switched out while timerlat's thread was late.
 * timerlat reports the latency only when the thread runs. One entry without samples. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct trigger_stack);
} blockers SEC(".maps");

static __noinline int stack_of_blocker(__u32 cpu, __u64 sequence)
{
	__u32 key = sequence % TRIGGER_RECENT;
	struct trigger_stacks *to = has_stacks ? bpf_map_lookup_elem(&stacks, &key) : NULL;
	struct trigger_stack *from = bpf_map_lookup_elem(&blockers, &cpu);

	if (!to || !from || !from->kernel_size)
		return 0;
	to->sequence = 0;
	barrier();
	if (bpf_probe_read_kernel(&to->spike, sizeof(to->spike), from))
		return 0;
	to->holder.since_ns = 0;
	to->steal_ns = STEAL_UNKNOWN;
	barrier();
	to->sequence = sequence;
	return 0;
}

__u8 code[TRIGGER_CODE_SIZE] = {};

/* For BPF_PROG_TEST_RUN: reads the code before the address in its first argument. */
SEC("raw_tp")
int stack_code(struct bpf_raw_tracepoint_args *ctx)
{
	return bpf_probe_read_kernel(code, sizeof(code), (void *)(ctx->args[0] - sizeof(code)));
}

#endif
