/* SPDX-License-Identifier: GPL-2.0-only */
/* Spans: the time from an entry to an exit, each a tracepoint, a function of the kernel, or a probe
 * in user space. Part of the trigger: a long one is a spike at its exit. */
#ifndef SPAN_H
#define SPAN_H

#include <linux/ptrace.h>

/* Sizes of its maps, set before load. */
#define BPF_USDT_MAX_SPEC_CNT 1
#define BPF_USDT_MAX_IP_CNT 1

#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>

#include "spike.h"
#include "stack.h"

const volatile char span_name[TRIGGER_LABEL_SIZE] = "";
const volatile __u32 span_by = SPAN_BY_THREAD;
/* 1: entry and exit are of one function, so that an entry in an open span is a recursive call. */
const volatile __u32 span_nests = 0;

const volatile struct span_argument span_entry_argument = {};
const volatile struct span_argument span_exit_argument = {};

/* Spans that have not ended. */
struct span_open {
	__u64 began_ns;
	__u64 depth; /* recursive calls under way */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set before load */
	__type(key, __u64);
	__type(value, struct span_open);
} spans SEC(".maps");

/* All CPUs have an idle task with the ID 0. */
static __always_inline __u64 span_thread(void)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();

	return tid ? tid : 1ULL << 32 | bpf_get_smp_processor_id();
}

static __always_inline __u64 span_key(__u64 argument)
{
	if (span_by == SPAN_BY_ARGUMENT)
		return argument;
	return span_by == SPAN_BY_CPU ? bpf_get_smp_processor_id() : span_thread();
}

/* On any CPU, watched or not. */
static __always_inline void span_count(__u32 what)
{
	struct trigger_cpu *cpu = cpu_of_kind(bpf_get_smp_processor_id(), TRIGGER_SPAN);

	if (cpu && what < SPAN_UNPAIRED)
		cpu->unpaired[what]++;
}

static __noinline int span_begin(__u64 argument)
{
	struct span_open begun = {};
	__u64 key = span_key(argument);
	struct span_open *open = bpf_map_lookup_elem(&spans, &key);

	if (open) {
		span_count(SPAN_REENTERED);
		if (span_nests)
			open->depth++;
		else
			open->began_ns = bpf_ktime_get_ns();
		return 0;
	}
	begun.began_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&spans, &key, &begun, BPF_ANY))
		span_count(SPAN_NO_ROOM);
	return 0;
}

static __noinline int span_spike(void *ctx, struct trigger_cpu *cpu, __u64 now, __u64 latency_ns)
{
	struct trigger_spike *s = take_raw(cpu, TRIGGER_SPAN, latency_ns);

	if (!s)
		return 0;
	s->actual_ns = now;
	s->expected_ns = now - latency_ns;
	s->cpu = s->ran_cpu;
	fill_task(s);
	/* Volatile reads: user space sets this constant before loading. */
	for (int i = 0; i < TRIGGER_LABEL_SIZE; i++)
		s->label[i] = span_name[i];
	stack_at_spike(ctx, s->sequence);
	return tell(s);
}

static __noinline int span_end(void *ctx, __u64 argument)
{
	__u64 now = bpf_ktime_get_ns(), latency_ns;
	struct trigger_cpu *cpu = cpu_of_kind(bpf_get_smp_processor_id(), TRIGGER_SPAN);
	__u64 key = span_key(argument);
	struct span_open *open = bpf_map_lookup_elem(&spans, &key);

	if (!open) {
		span_count(SPAN_NOT_ENTERED);
		return 0;
	}
	if (open->depth) {
		open->depth--;
		return 0;
	}
	latency_ns = lateness(now, open->began_ns);
	bpf_map_delete_elem(&spans, &key);
	if (!cpu || !cpu->watched)
		return 0;
	count(cpu, latency_ns);
	if (latency_ns < thresholds_ns[TRIGGER_SPAN] || latency_ns < measured_ns[TRIGGER_SPAN])
		return 0;
	return span_spike(ctx, cpu, now, latency_ns);
}

/* The program of a thread's last moments, where spans are of threads. */
SEC("?tp_btf/sched_process_exit")
int span_thread_exit(void *ctx)
{
	__u64 key = span_thread();

	(void)ctx;
	if (bpf_map_lookup_elem(&spans, &key)) {
		span_count(SPAN_THREAD_DIED);
		bpf_map_delete_elem(&spans, &key);
	}
	return 0;
}

static __always_inline __u64 span_field(void *ctx, const volatile struct span_argument *argument)
{
	__u32 size = argument->size;
	__u64 value = 0;

	if (size && size <= sizeof(value))
		bpf_probe_read_kernel(&value, size, ctx + argument->place);
	return value;
}

/* By a helper: of a context, the verifier takes no computed offset. */
static __always_inline __u64 span_register(struct pt_regs *regs,
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

/* The programs, one for each way to attach. Those of tracepoints return 1, so that perf events on
 * the same tracepoint still see it: 0 would hide it from all of them. */

SEC("?tp")
int span_entry_tp(void *ctx)
{
	span_begin(span_field(ctx, &span_entry_argument));
	return 1;
}

SEC("?tp")
int span_exit_tp(void *ctx)
{
	span_end(ctx, span_field(ctx, &span_exit_argument));
	return 1;
}

SEC("?fentry")
int span_entry_fn(void *ctx)
{
	__u64 value = 0;

	if (span_by == SPAN_BY_ARGUMENT)
		bpf_get_func_arg(ctx, span_entry_argument.place, &value);
	span_begin(value);
	return 0;
}

SEC("?fexit")
int span_exit_fn(void *ctx)
{
	__u64 value = 0;

	if (span_by == SPAN_BY_ARGUMENT)
		bpf_get_func_arg(ctx, span_exit_argument.place, &value);
	span_end(ctx, value);
	return 0;
}

/* Of the kernel or of user space. */
SEC("?kprobe")
int span_entry_probe(struct pt_regs *ctx)
{
	span_begin(span_register(ctx, &span_entry_argument));
	return 0;
}

SEC("?kprobe")
int span_exit_probe(struct pt_regs *ctx)
{
	span_end(ctx, span_register(ctx, &span_exit_argument));
	return 0;
}

SEC("?usdt")
int span_entry_usdt(struct pt_regs *ctx)
{
	long value = 0;

	if (span_by == SPAN_BY_ARGUMENT)
		bpf_usdt_arg(ctx, span_entry_argument.place, &value);
	span_begin(value);
	return 0;
}

SEC("?usdt")
int span_exit_usdt(struct pt_regs *ctx)
{
	long value = 0;

	if (span_by == SPAN_BY_ARGUMENT)
		bpf_usdt_arg(ctx, span_exit_argument.place, &value);
	span_end(ctx, value);
	return 0;
}

#endif
