/* SPDX-License-Identifier: GPL-2.0-only */
/* The trigger span: the time from an entry to an exit, each a tracepoint, a kernel function, or a
 * probe in user space. A span over the threshold is a spike, at its exit or, with overrun, at the
 * threshold. */
#ifndef SPAN_BPF_H
#define SPAN_BPF_H

#include "span_missed.bpf.h"
#include "spike.bpf.h"
#include "stack.bpf.h"
#include "trace_triggers.bpf.h"

#include <linux/ptrace.h>

/* Sizes of its maps, set before load. */
#define BPF_USDT_MAX_SPEC_CNT 1
#define BPF_USDT_MAX_IP_CNT 1

#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>

const volatile char span_name[TRIGGER_LABEL_SIZE] = "";
const volatile __u32 span_by = SPAN_BY_THREAD;
/* 1: entry and exit are of one function, so an entry in an open span may be a recursive call. */
const volatile __u32 span_nests = 0;

/* Set by user space while both entry and exit are attached. */
__u32 span_counting = 0;

const volatile struct span_argument span_entry_argument = {};
const volatile struct span_argument span_exit_argument = {};

/* An open span. If it nests, also its thread, and span_frame() at its entry. */
struct span_open {
	__u64 began_ns;
	__u64 thread;
	__u64 frame;
	__u64 moves;	 /* of a thread: span_thread_moves() */
	__u32 was_spike; /* 1: was a spike */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set before load */
	__type(key, __u64);
	__type(value, struct span_open);
} spans SEC(".maps");

/* The idle tasks of all CPUs have the ID 0. */
static __always_inline __u64 span_key_of_thread(void)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();

	return tid ? tid : 1ULL << 32 | bpf_get_smp_processor_id();
}

/* Of a span that nests: a place on the stack. Calls are below their callers. */
static __noinline __u64 span_frame(__u64 stack_pointer)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const __u64 kernel_bit = 1ULL << 63;

	/* An interrupt nests in its task, though its stack may be above the task's. */
	if (stack_pointer & kernel_bit &&
	    (stack_pointer < (__u64)task->stack || stack_pointer >= (__u64)bpf_task_pt_regs(task)))
		return stack_pointer & ~kernel_bit;
	return stack_pointer;
}

static __always_inline __u64 span_key_of_hit(__u64 argument)
{
	if (span_by == SPAN_BY_ARGUMENT)
		return argument;
	return span_by == SPAN_BY_CPU ? bpf_get_smp_processor_id() : span_key_of_thread();
}

/* Any CPU, watched or not. */
static __always_inline void span_count_unpaired(__u32 what)
{
	struct trigger_cpu *cpu =
		cpu_stats_of_kind(bpf_get_smp_processor_id(), PERF_POKE_TRIGGER_SPAN);

	if (cpu && span_counting && what < SPAN_UNPAIRED)
		cpu->unpaired[what]++;
}

/* Whether the open span is of a caller. If not, its exit was lost: a longjmp has left the function,
 * or the kernel has missed its return. */
static __always_inline bool span_is_outer(const struct span_open *open, __u64 frame)
{
	return span_nests && frame < open->frame && open->thread == span_key_of_thread();
}

/* frame: of span_frame(), or 0 if the span does not nest. */
static __noinline int span_entry_hit(__u64 argument, __u64 frame)
{
	struct span_open begun = {
		.began_ns = bpf_ktime_get_ns(),
		.frame = frame,
	};
	__u64 key = span_key_of_hit(argument);
	struct span_open *open = bpf_map_lookup_elem(&spans, &key);

	if (span_nests)
		begun.thread = span_key_of_thread();
	if (span_by == SPAN_BY_THREAD)
		begun.moves = span_thread_moves();
	span_see_missed_exits(span_missed_here(), begun.began_ns);
	if (open) {
		span_count_unpaired(SPAN_REENTERED);
		if (span_is_outer(open, frame))
			return 0;
		*open = begun;
	} else if (bpf_map_update_elem(&spans, &key, &begun, BPF_ANY)) {
		span_count_unpaired(SPAN_NO_ROOM);
		return 0;
	}
	if (overruns & 1U << PERF_POKE_TRIGGER_SPAN)
		overrun_remember(bpf_get_smp_processor_id(), PERF_POKE_TRIGGER_SPAN, key,
				 begun.began_ns);
	return 0;
}

/* Flag of a span without exit yet, which is counted at its exit. */
#define SPAN_OPEN (1ULL << 32)

/* Whether it may have ended before, at a hit that was missed. here: its thread runs. */
static __always_inline bool span_may_be_shorter(const struct span_open *begun, bool here)
{
	bool stayed = span_by == SPAN_BY_CPU ||
		      (span_by == SPAN_BY_THREAD && here && begun->moves == span_thread_moves());

	return span_exit_was_missed(begun->began_ns, !stayed);
}

/* open: 0, or SPAN_OPEN plus the TID of another than the running thread, or plus 0. */
static __noinline int span_take_spike(void *ctx, struct trigger_cpu *cpu,
				      const struct span_open *begun, __u64 now, __u64 open)
{
	__u64 latency_ns = latency_between(now, begun->began_ns);
	struct trigger_spike *s =
		spike_take_at(cpu, PERF_POKE_TRIGGER_SPAN, latency_ns, now, false, !open);
	__u32 tid = open;

	if (!s)
		return 0;
	s->actual_ns = s->time_ns;
	s->expected_ns = s->time_ns - latency_ns;
	s->cpu = s->ran_cpu;
	s->uncertain = span_may_be_shorter(begun, !tid);
	spike_fill_task(s);
	/* The controller finds the rest of another thread. */
	if (tid)
		s->tid = s->late.tid = tid;
	if (!tid && span_by == SPAN_BY_THREAD)
		spike_fill_late_current(s);
	/* Volatile reads: user space sets this constant before loading. */
	for (int i = 0; i < TRIGGER_LABEL_SIZE; i++)
		s->label[i] = span_name[i];
	stack_at_spike(ctx, s->sequence);
	return spike_submit(s);
}

static __always_inline void span_measured(void *ctx, struct trigger_cpu *cpu,
					  const struct span_open *begun, __u64 now)
{
	__u64 latency_ns = latency_between(now, begun->began_ns);

	if (!cpu || !cpu->watched)
		return;
	if (begun->was_spike || latency_ns < cpu->threshold_ns)
		cpu_stats_count(cpu, latency_ns);
	else
		span_take_spike(ctx, cpu, begun, now, 0);
}

static __noinline int span_exit_hit(void *ctx, __u64 argument, __u64 frame)
{
	__u64 now = bpf_ktime_get_ns();
	struct span_open begun;
	struct trigger_cpu *cpu =
		cpu_stats_of_kind(bpf_get_smp_processor_id(), PERF_POKE_TRIGGER_SPAN);
	__u64 key = span_key_of_hit(argument);
	struct span_open *open = bpf_map_lookup_elem(&spans, &key);

	if (!open) {
		span_count_unpaired(SPAN_NOT_ENTERED);
		return 0;
	}
	if (span_is_outer(open, frame))
		return 0;
	begun = *open;
	/* No spike of span_expiry() from now on. */
	open->was_spike = 1;
	/* Deleting takes hundreds of instructions, so freeze first, unless another CPU may begin
	 * the next span with this key meanwhile. */
	if (span_by == SPAN_BY_ARGUMENT)
		bpf_map_delete_elem(&spans, &key);
	span_measured(ctx, cpu, &begun, now);
	if (span_by != SPAN_BY_ARGUMENT)
		bpf_map_delete_elem(&spans, &key);
	return 0;
}

static __noinline int span_claim_overrun(__u64 key, __u64 began_ns)
{
	struct span_open *open = bpf_map_lookup_elem(&spans, &key);

	if (!open || open->began_ns != began_ns || open->was_spike)
		return 0;
	open->was_spike = 1;
	return 1;
}

SEC("?tp_btf/hrtimer_expire_entry")
int span_expiry(void *ctx)
{
	__u64 now = bpf_ktime_get_ns();
	struct overrun_slot found = {};
	struct span_open begun = {}, *open;
	struct trigger_cpu *cpu;
	__u32 tid;

	if (!overrun_find(PERF_POKE_TRIGGER_SPAN, now, span_claim_overrun, &found))
		return 0;
	open = bpf_map_lookup_elem(&spans, &found.key);
	if (open)
		begun = *open;
	begun.began_ns = found.began_ns;
	cpu = cpu_stats_of_kind(bpf_get_smp_processor_id(), PERF_POKE_TRIGGER_SPAN);
	tid = found.key;
	if (span_by != SPAN_BY_THREAD || tid == (__u32)bpf_get_current_pid_tgid())
		tid = 0;
	return cpu ? span_take_spike(ctx, cpu, &begun, now, SPAN_OPEN | tid) : 0;
}

/* For spans of threads: runs when a thread exits. */
SEC("?tp_btf/sched_process_exit")
int span_thread_exit(void *ctx)
{
	__u64 key = span_key_of_thread();

	if (bpf_map_lookup_elem(&spans, &key)) {
		span_count_unpaired(SPAN_THREAD_DIED);
		bpf_map_delete_elem(&spans, &key);
	}
	return 0;
}

static __always_inline __u64 span_read_field(void *ctx,
					     const volatile struct span_argument *argument)
{
	__u32 size = argument->size;
	__u64 value = 0;

	if (size && size <= sizeof(value))
		bpf_probe_read_kernel(&value, size, ctx + argument->place);
	return value;
}

/* For functions with a trampoline. */
static __always_inline __u64 span_read_parameter(void *ctx,
						 const volatile struct span_argument *argument)
{
	__u64 value = 0;

	if (span_by == SPAN_BY_ARGUMENT)
		bpf_get_func_arg(ctx, argument->place, &value);
	return value;
}

static __always_inline __u64 span_read_usdt_argument(struct pt_regs *ctx,
						     const volatile struct span_argument *argument)
{
	long value = 0;

	if (span_by == SPAN_BY_ARGUMENT)
		bpf_usdt_arg(ctx, argument->place, &value);
	return value;
}

/* Through a helper: the verifier allows no computed offset into a context. */
static __always_inline __u64 span_read_register(struct pt_regs *regs,
						const volatile struct span_argument *argument)
{
	const void *at = &PT_REGS_PARM5(regs);
	__u64 value = 0;

	if (span_by != SPAN_BY_ARGUMENT)
		return 0;
	switch (argument->place) {
	case 0:
		at = &PT_REGS_PARM1(regs);
		break;
	case 1:
		at = &PT_REGS_PARM2(regs);
		break;
	case 2:
		at = &PT_REGS_PARM3(regs);
		break;
	case 3:
		at = &PT_REGS_PARM4(regs);
		break;
	}
	bpf_probe_read_kernel(&value, sizeof(value), at);
	return value;
}

/* Takes the hit of a tracepoint. */
static __always_inline bool
span_take_hit(__u32 which, const volatile struct span_argument *argument, __u64 *value)
{
	return !argument->noted || hit_take(which, argument->filtered, value);
}

/* In a trampoline, whose context is on the stack, at one place for the entry and exit of a call. */
static __always_inline __u64 span_frame_of_trampoline(void *ctx)
{
	return span_nests ? span_frame(address_of(ctx)) : 0;
}

static __always_inline __u64 span_frame_at_entry(const struct pt_regs *regs)
{
	return span_nests ? span_frame(PT_REGS_SP(regs)) : 0;
}

static __always_inline __u64 span_frame_at_exit(const struct pt_regs *regs)
{
	__u64 stack_pointer = PT_REGS_SP(regs);

#ifdef bpf_target_x86
	/* Without the return address: above the entry, but maybe at that of the caller. */
	stack_pointer--;
#endif
	return span_nests ? span_frame(stack_pointer) : 0;
}

/* Programs, one for each way to attach. */

SEC("?tp")
int span_entry_note(void *ctx)
{
	__u64 value = span_read_field(ctx, &span_entry_argument);

	if (span_entry_argument.filtered)
		return hit_note(HIT_SPAN_ENTRY, value, true);
	/* An entry freezes nothing. */
	span_entry_hit(value, 0);
	return 1;
}

SEC("?tp")
int span_exit_note(void *ctx)
{
	return hit_note(HIT_SPAN_EXIT, span_read_field(ctx, &span_exit_argument),
			span_exit_argument.filtered);
}

SEC("?raw_tp")
int span_entry_tp(void *ctx)
{
	__u64 value = 0;

	return span_take_hit(HIT_SPAN_ENTRY, &span_entry_argument, &value)
		       ? span_entry_hit(value, 0)
		       : 0;
}

SEC("?raw_tp")
int span_exit_tp(void *ctx)
{
	__u64 value = 0;

	return span_take_hit(HIT_SPAN_EXIT, &span_exit_argument, &value)
		       ? span_exit_hit(ctx, value, 0)
		       : 0;
}

SEC("?fentry")
int span_entry_fn(void *ctx)
{
	return span_entry_hit(span_read_parameter(ctx, &span_entry_argument),
			      span_frame_of_trampoline(ctx));
}

SEC("?fexit")
int span_exit_fn(void *ctx)
{
	return span_exit_hit(ctx, span_read_parameter(ctx, &span_exit_argument),
			     span_frame_of_trampoline(ctx));
}

/* Kernel or user space. */
SEC("?kprobe")
int span_entry_probe(struct pt_regs *ctx)
{
	return span_entry_hit(span_read_register(ctx, &span_entry_argument),
			      span_frame_at_entry(ctx));
}

SEC("?kprobe")
int span_exit_probe(struct pt_regs *ctx)
{
	return span_exit_hit(ctx, span_read_register(ctx, &span_exit_argument),
			     span_frame_at_exit(ctx));
}

SEC("?usdt")
int span_entry_usdt(struct pt_regs *ctx)
{
	return span_entry_hit(span_read_usdt_argument(ctx, &span_entry_argument), 0);
}

SEC("?usdt")
int span_exit_usdt(struct pt_regs *ctx)
{
	return span_exit_hit(ctx, span_read_usdt_argument(ctx, &span_exit_argument), 0);
}

#endif
