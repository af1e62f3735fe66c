/* SPDX-License-Identifier: GPL-2.0-only */
/* The task that has the CPU when the timer of a watched thread expires, or when the thread is
 * woken. While the session is armed, its kernel stack is taken at each such interrupt that hits the
 * kernel outside of the idle task, because only there can a task keep others from the CPU. In user
 * space, the interrupted address is kept. Its whole stack is taken once the thread is late: at the
 * interrupt, if it was late already, else when the task gives up the CPU. */
#ifndef HOLDER_H
#define HOLDER_H

#include "spike.h"
#include "stack.h"

#include <linux/ptrace.h>

#include <bpf/bpf_tracing.h>

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
static __always_inline bool is_half(__u32 kind, __u64 late_ns)
{
	const struct trigger_cpu *cpu;

	if (!thresholds_ns[kind])
		return false;
	cpu = cpu_of_kind(bpf_get_smp_processor_id(), kind);
	return cpu && late_ns >= cpu->threshold_ns / 2;
}

static __always_inline bool is_late(__u64 late_ns)
{
	return is_half(PERF_POKE_TRIGGER_THREAD, late_ns) ||
	       is_half(PERF_POKE_TRIGGER_WAKEUP, late_ns);
}

/* Takes the whole stack. */
static __noinline int holder_stack(void *ctx, __u32 at_interrupt)
{
	__u32 key = bpf_get_smp_processor_id();
	struct trigger_holder *holder = bpf_map_lookup_elem(&holders, &key);

	if (!holder)
		return 0;
	stack_take(&holder->stack, ctx);
	holder->at_interrupt = at_interrupt;
	return 0;
}

/* Keeps a stack as long again as its task had the CPU: after that, the task that runs longer is
 * responsible. NULL: it is kept, or the same task still has the CPU. */
static __always_inline struct trigger_holder *holder_seen(__u32 cpu, __u64 now)
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
static __always_inline __u64 interrupted_user(void)
{
	struct pt_regs *const *at = &__irq_regs ? bpf_this_cpu_ptr(&__irq_regs) : NULL;

	return user_address_of(at ? *at : NULL);
}

/* Where the task was when it entered the kernel. */
static __always_inline __u64 entered_from(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return task->mm ? user_address_of((struct pt_regs *)bpf_task_pt_regs(task)) : 0;
}

/* At the timer's interrupt. address: known to be hit in user space; 0: the stack tells. */
static __noinline int holder_interrupted(void *ctx, __u64 now, __u64 irq_ns, __u64 address)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	struct trigger_holder *holder = holder_seen(bpf_get_smp_processor_id(), now);

	if (!holder || !(__u32)pid_tgid)
		return 0;
	holder->pid = pid_tgid >> 32;
	holder->tid = pid_tgid;
	holder->user_address = address;
	if (armed && !disarmed && !address) {
		holder->interrupted_size =
			bpf_get_stack(ctx, holder->interrupted, sizeof(holder->interrupted), 0);
		if (holder->interrupted_size > 0)
			holder->user_address = entered_from();
	}
	if (is_late(irq_ns))
		holder_stack(ctx, 1);
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
	if (from && !holder->at_interrupt && is_late(lateness(now, holder->since_ns)))
		holder_stack(ctx, 0);
	holder->until_ns = now;
}

/* Adds the task that had the CPU at that time to the stacks of the spike. */
static __noinline int holder_copy(__u32 cpu, __u64 sequence, __u64 at_ns)
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
