/* SPDX-License-Identifier: GPL-2.0-only */
/* Stacks at a spike. The program that takes the spike records them after the freeze, so they add no
 * cost to other expiries. */
#ifndef STACK_BPF_H
#define STACK_BPF_H

#include "spike.bpf.h"
#include "steal.bpf.h"

#include <linux/ptrace.h>

#include <bpf/bpf_tracing.h>

#ifdef bpf_target_arm64
/* Its header for user space has struct user_pt_regs, with which this begins. */
struct pt_regs {
	struct user_pt_regs user_regs;
};
#define USER_REGISTERS_SIZE sizeof(struct user_pt_regs)
#elif defined(bpf_target_x86)
#define USER_REGISTERS_SIZE sizeof(struct pt_regs)
#endif

/* 0: of the task only its name. */
const volatile __u32 has_stacks = 0;

/* Of the newest spikes, by sequence. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, TRIGGER_RECENT);
	__type(key, __u32);
	__type(value, struct trigger_stacks);
} stacks SEC(".maps");

/* By CPU: the perf event that counts its SMIs, if it can. To read it from another CPU would
 * interrupt that one. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 1); /* set before load */
	__type(key, __u32);
	__type(value, __u32);
} smi_events SEC(".maps");

static __always_inline void stack_take_current(struct trigger_stack *to, void *ctx)
{
	const struct task_struct *task = (void *)bpf_get_current_task_btf();

	to->tid = task->pid;
	to->pid = task->tgid;
	to->policy = task->policy;
	to->rt_priority = task->rt_priority;
	to->nice = task->static_prio - TRIGGER_NICE_0;
	bpf_get_current_comm(to->comm, sizeof(to->comm));
	to->kernel_size = to->user_size = to->build_ids_size = 0;
	if (!has_stacks)
		return;
	to->kernel_size = bpf_get_stack(ctx, to->kernel, sizeof(to->kernel), 0);
	if (!task->mm)
		return;
	to->user_size = bpf_get_stack(ctx, to->user, sizeof(to->user), BPF_F_USER_STACK);
	/* Addresses instead, if the task's mappings cannot be locked, as in an interrupt with
	 * PREEMPT_RT. */
	to->build_ids_size = bpf_get_stack(ctx, to->build_ids, sizeof(to->build_ids),
					   BPF_F_USER_STACK | BPF_F_USER_BUILD_ID);
}

#define USER_CHUNK 1024

/* The stack may end, or a page of it may be away. */
static __always_inline void stack_take_user(struct trigger_user *to)
{
	to->size = 0;
#ifdef USER_REGISTERS_SIZE
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	const struct pt_regs *regs;

	if (!has_stacks || !task->mm ||
	    !bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return;
	regs = (void *)bpf_task_pt_regs(task);
	_Static_assert(USER_REGISTERS_SIZE <= sizeof(to->registers), "as trigger.h says");
	if (bpf_probe_read_kernel(to->registers, USER_REGISTERS_SIZE, regs))
		return;
	for (int i = 0; i < TRIGGER_USER_MEMORY / USER_CHUNK; i++) {
		if (bpf_probe_read_user(
			    to->memory + i * USER_CHUNK, USER_CHUNK,
			    (void *)(PT_REGS_SP((struct pt_regs *)to->registers) + i * USER_CHUNK)))
			break;
		to->size += USER_CHUNK;
	}
#endif
}

/* The stack of the running or interrupted task. */
static __noinline int stack_at_spike(void *ctx, __u64 sequence)
{
	__u32 key = sequence % TRIGGER_RECENT;
	struct trigger_stacks *to = bpf_map_lookup_elem(&stacks, &key);
	__u64 begin = bpf_ktime_get_ns();

	if (!to)
		return 0;
	to->sequence = 0;
	barrier();
	to->smis = bpf_perf_event_read(&smi_events, BPF_F_CURRENT_CPU);
	stack_take_current(&to->spike, ctx);
	stack_take_user(&to->user);
	to->holder.since_ns = 0;
	to->steal_ns =
		steal_ns_of_run_queue(steal_run_queue_of((void *)bpf_get_current_task_btf()));
	to->took_ns = bpf_ktime_get_ns() - begin;
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
	to->user.size = 0;
	to->holder.since_ns = 0;
	to->steal_ns = STEAL_UNKNOWN;
	to->smis = bpf_perf_event_read(&smi_events, BPF_F_CURRENT_CPU);
	to->took_ns = 0;
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

/* -- The task that has the CPU when the timer of a watched thread expires, or when the thread is
 * woken. While the session is armed, its kernel stack is taken at each such interrupt that hits the
 * kernel outside of the idle task, because only there can a task keep others from the CPU. In user
 * space, the interrupted address is kept. Its whole stack is taken once the thread is late: at the
 * interrupt, if it was late already, else when the task gives up the CPU. */

/* Registers of the interrupted code; NULL outside of interrupts. Programs that use it are loaded
 * only if the kernel has it. */
extern struct pt_regs *__irq_regs __weak __ksym;

/* By CPU */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set before load */
	__type(key, __u32);
	__type(value, struct trigger_holder);
} holders SEC(".maps");

/* Whether half the way to a spike is over. */
static __always_inline bool holder_is_half_late(__u32 kind, __u64 late_ns)
{
	const struct trigger_cpu *cpu;

	if (!thresholds_ns[kind])
		return false;
	cpu = cpu_stats_of_kind(bpf_get_smp_processor_id(), kind);
	return cpu && late_ns >= cpu->threshold_ns / 2;
}

static __always_inline bool holder_is_late(__u64 late_ns)
{
	return holder_is_half_late(PERF_POKE_TRIGGER_THREAD, late_ns) ||
	       holder_is_half_late(PERF_POKE_TRIGGER_WAKEUP, late_ns);
}

/* Takes the whole stack. */
static __noinline int holder_take_stack(void *ctx, __u32 at_interrupt)
{
	__u32 key = bpf_get_smp_processor_id();
	struct trigger_holder *holder = bpf_map_lookup_elem(&holders, &key);

	if (!holder)
		return 0;
	stack_take_current(&holder->stack, ctx);
	holder->at_interrupt = at_interrupt;
	return 0;
}

/* Keeps a stack as long again as its task had the CPU: after that, the task that runs longer is
 * responsible. NULL: it is kept, or the same task still has the CPU. */
static __always_inline struct trigger_holder *holder_note_seen(__u32 cpu, __u64 now)
{
	struct trigger_holder *holder = has_stacks ? bpf_map_lookup_elem(&holders, &cpu) : NULL;

	if (!holder || (holder->since_ns && !holder->until_ns))
		return NULL;
	if (holder->stack.kernel_size &&
	    now - holder->until_ns < holder->until_ns - holder->since_ns)
		return NULL;
	holder->stack.kernel_size = 0;
	holder->interrupted_size = 0;
	holder->pid = holder->tid = 0;
	holder->at_interrupt = 0;
	holder->user_address = 0;
	holder->since_ns = now;
	holder->until_ns = 0;
	return holder;
}

/* 0: none, or of the kernel, whose addresses are negative. */
static __always_inline __u64 user_address_of(const struct pt_regs *regs)
{
	__s64 address = 0;

	if (regs)
		bpf_probe_read_kernel(&address, sizeof(address), &PT_REGS_IP(regs));
	return address > 0 ? address : 0;
}

/* The interrupted address, as above. */
static __always_inline __u64 interrupted_user_address(void)
{
	struct pt_regs *const *at = &__irq_regs ? bpf_this_cpu_ptr(&__irq_regs) : NULL;

	return user_address_of(at ? *at : NULL);
}

/* Where the task was when it entered the kernel. */
static __always_inline __u64 address_before_entry(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return task->mm ? user_address_of((struct pt_regs *)bpf_task_pt_regs(task)) : 0;
}

/* At the timer's interrupt. address: known to be hit in user space; 0: the stack tells. */
static __noinline int holder_interrupted(void *ctx, __u64 now, __u64 irq_ns, __u64 address)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	struct trigger_holder *holder = holder_note_seen(bpf_get_smp_processor_id(), now);

	if (!holder || !(__u32)pid_tgid)
		return 0;
	holder->pid = pid_tgid >> 32;
	holder->tid = pid_tgid;
	holder->user_address = address;
	if (armed && !disarmed && !address) {
		holder->interrupted_size =
			bpf_get_stack(ctx, holder->interrupted, sizeof(holder->interrupted), 0);
		if (holder->interrupted_size > 0)
			holder->user_address = address_before_entry();
	}
	if (holder_is_late(irq_ns))
		holder_take_stack(ctx, 1);
	return 0;
}

/* Another task gets the CPU. */
static __always_inline void holder_switched(void *ctx, __u32 from)
{
	__u32 key = bpf_get_smp_processor_id();
	struct trigger_holder *holder = has_stacks ? bpf_map_lookup_elem(&holders, &key) : NULL;
	__u64 now;

	if (!holder || !holder->since_ns || holder->until_ns)
		return;
	now = bpf_ktime_get_ns();
	if (from && !holder->at_interrupt && holder_is_late(latency_between(now, holder->since_ns)))
		holder_take_stack(ctx, 0);
	holder->until_ns = now;
}

/* Adds the task that had the CPU at that time to the stacks of the spike. */
static __noinline int holder_copy_to_spike(__u32 cpu, __u64 sequence, __u64 at_ns)
{
	__u32 key = sequence % TRIGGER_RECENT;
	struct trigger_stacks *to = has_stacks ? bpf_map_lookup_elem(&stacks, &key) : NULL;
	struct trigger_holder *from = bpf_map_lookup_elem(&holders, &cpu);

	if (!to || !from || at_ns < from->since_ns || (from->until_ns && at_ns > from->until_ns))
		return 0;
	to->sequence = 0;
	barrier();
	if (bpf_probe_read_kernel(&to->holder, sizeof(to->holder), from))
		to->holder.since_ns = 0;
	barrier();
	to->sequence = sequence;
	return 0;
}

#endif
