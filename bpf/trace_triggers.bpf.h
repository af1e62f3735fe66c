/* SPDX-License-Identifier: GPL-2.0-only */
/* The triggers event, marker and noise, which watch what tracing reports. */
#ifndef TRACE_TRIGGERS_BPF_H
#define TRACE_TRIGGERS_BPF_H

#include "hit_notes.bpf.h"
#include "marker_text.h"
#include "spike.bpf.h"
#include "stack.bpf.h"

#include <linux/ptrace.h>

#include <bpf/bpf_tracing.h>

/* -- The trigger event: each hit of a tracepoint is a spike, at any latency. */

const volatile char event_name[TRIGGER_LABEL_SIZE] = "";
const volatile __u32 event_filtered = 0;

/* User space attaches both to the tracepoint, the first one if there is a filter. */
SEC("?tp")
int event_note(void *ctx)
{
	const struct trigger_cpu *cpu =
		cpu_stats_of_kind(bpf_get_smp_processor_id(), PERF_POKE_TRIGGER_EVENT);

	return cpu && cpu->watched ? hit_note(HIT_EVENT, 0, true) : 1;
}

SEC("?raw_tp")
int event_seen(void *ctx)
{
	struct trigger_cpu *cpu =
		cpu_stats_of_kind(bpf_get_smp_processor_id(), PERF_POKE_TRIGGER_EVENT);
	struct trigger_spike *s;

	if (!cpu || !cpu->watched)
		return 0;
	if (event_filtered && !hit_take(HIT_EVENT, true, NULL))
		return 0;
	if (cpu->threshold_ns == TRIGGER_NEVER) {
		cpu_stats_count(cpu, 0);
		return 0;
	}
	s = spike_take_raw(cpu, PERF_POKE_TRIGGER_EVENT, 0);
	if (!s)
		return 0;
	s->actual_ns = s->expected_ns = s->time_ns;
	s->cpu = s->ran_cpu;
	spike_fill_task(s);
	spike_fill_late_current(s);
	/* Volatile reads: user space sets this constant before loading. */
	for (int i = 0; i < TRIGGER_LABEL_SIZE; i++)
		s->label[i] = event_name[i];
	stack_at_spike(ctx, s->sequence);
	return spike_submit(s);
}

/* -- The trigger marker: text that a program writes to a trace_marker is a spike. */

/* Longer texts are searched up to here. */
#define MARKER_TEXT_MAX 128

/* Address of tracing_mark_write(), which all instances use for trace_marker. */
const volatile __u64 marker_function = 0;
/* Length of the word. */
const volatile __u64 marker_length = 0;
const volatile __u8 marker_classes[MARKER_CHARACTERS] = {};
const volatile __u8 marker_next[MARKER_STATES * MARKER_CHARACTERS] = {};

struct marker_text {
	__u8 text[MARKER_TEXT_MAX];
};

/* tasks: see spike_poke_targets(). */
static __noinline int marker_spike(void *ctx, struct trigger_cpu *cpu,
				   const struct marker_text *marker, __u64 latency_ns, __u64 tasks)
{
	struct trigger_spike *s = spike_take_at(cpu, PERF_POKE_TRIGGER_MARKER, latency_ns,
						bpf_ktime_get_ns(), tasks, true);

	if (!s)
		return 0;
	s->actual_ns = s->time_ns;
	s->expected_ns = s->time_ns - latency_ns;
	s->cpu = s->ran_cpu;
	spike_fill_task(s);
	spike_fill_late_current(s);
	__builtin_memcpy(s->label, marker->text, sizeof(s->label));
	stack_at_spike(ctx, s->sequence);
	return spike_submit(s);
}

/* A separate function has few variables: otherwise the verifier of Linux 6.1 loses track of a loop
 * counter outside of a register. */
static __noinline int marker_take_character(struct marker_scan *scan, __u8 character)
{
	marker_scan_step(scan, marker_classes, marker_next, character);
	return 0;
}

static __noinline int marker_search_text(void *ctx, const void *text, __u64 size, __u64 tasks)
{
	struct trigger_cpu *cpu =
		cpu_stats_of_kind(bpf_get_smp_processor_id(), PERF_POKE_TRIGGER_MARKER);
	struct marker_text marker = {};
	struct marker_scan scan = {};

	if (!cpu || !cpu->watched)
		return 0;
	if (size > sizeof(marker.text))
		size = sizeof(marker.text);
	/* The page is present: the text was just written. */
	if (bpf_probe_read_user(&marker.text, size, text))
		return 0;
#pragma clang loop unroll(disable)
	for (int i = 0; i < MARKER_TEXT_MAX; i++)
		marker_take_character(&scan, marker.text[i]);
	if (scan.state != marker_length)
		return 0;
	if (scan.latency_ns < cpu->threshold_ns) {
		cpu_stats_count(cpu, scan.latency_ns);
		return 0;
	}
	return marker_spike(ctx, cpu, &marker, scan.latency_ns, tasks);
}

/* vfs_write(file, text, size, position), for any file: the functions of kernel/trace cannot be
 * traced. Writes to other files cost one comparison. */
SEC("?fentry/vfs_write")
int marker_write(__u64 *ctx)
{
	const struct file *file = (const struct file *)ctx[0];

	if ((__u64)file->f_op->write == marker_function)
		marker_search_text(ctx, (const void *)ctx[1], ctx[2], true);
	return 0;
}

/* The same for kernels whose functions have no trampolines. */
SEC("?kprobe/vfs_write")
int marker_write_probe(struct pt_regs *ctx)
{
	const struct file *file = (const struct file *)PT_REGS_PARM1(ctx);

	if ((__u64)BPF_CORE_READ(file, f_op, write) == marker_function)
		marker_search_text(ctx, (const void *)PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx),
				   false);
	return 0;
}

/* -- The trigger noise: a sample of osnoise with noise over the threshold is a spike. The kernel
 * reports each noise before the sample. */

struct noise_ring {
	__u64 nr; /* number written */
	struct trigger_noise_part parts[TRIGGER_NOISE_PARTS];
};

/* By CPU; one entry if not watched, like the next. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct noise_ring);
} noise_rings SEC(".maps");

/* Of the newest spikes, by sequence. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct trigger_noise_parts);
} noise_parts SEC(".maps");

static __always_inline int noise_record_part(__u32 class, __s32 number, const void *name,
					     __u64 start, __u64 ns)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct noise_ring *ring = bpf_map_lookup_elem(&noise_rings, &cpu);
	struct trigger_noise_part *part;
	__u64 place;

	if (!ring)
		return 0;
	place = ring->nr++ % TRIGGER_NOISE_PARTS;
	barrier_var(place);
	if (place >= TRIGGER_NOISE_PARTS)
		return 0;
	part = &ring->parts[place];
	part->start = start;
	part->ns = ns;
	part->class = class;
	part->number = number;
	part->name[0] = '\0';
	if (name)
		bpf_probe_read_kernel_str(part->name, sizeof(part->name), name);
	return 0;
}

SEC("?tp_btf/irq_noise")
int noise_part_irq(__u64 *ctx)
{
	return noise_record_part(TRIGGER_NOISE_IRQ, ctx[0], (const void *)ctx[1], ctx[2], ctx[3]);
}

SEC("?tp_btf/softirq_noise")
int noise_part_softirq(__u64 *ctx)
{
	return noise_record_part(TRIGGER_NOISE_SOFTIRQ, ctx[0], NULL, ctx[1], ctx[2]);
}

SEC("?tp_btf/thread_noise")
int noise_part_thread(__u64 *ctx)
{
	const struct task_struct *task = (const struct task_struct *)ctx[0];

	return noise_record_part(TRIGGER_NOISE_THREAD, task->pid, task->comm, ctx[1], ctx[2]);
}

SEC("?tp_btf/nmi_noise")
int noise_part_nmi(__u64 *ctx)
{
	return noise_record_part(TRIGGER_NOISE_NMI, 0, NULL, ctx[0], ctx[1]);
}

static __always_inline void noise_keep_parts(__u32 cpu, __u64 sequence, __u64 start)
{
	const struct noise_ring *ring = bpf_map_lookup_elem(&noise_rings, &cpu);
	__u32 key = sequence % TRIGGER_RECENT;
	struct trigger_noise_parts *to = bpf_map_lookup_elem(&noise_parts, &key);

	if (!ring || !to)
		return;
	to->sequence = 0;
	barrier();
	to->start = start;
	if (bpf_probe_read_kernel(to->parts, sizeof(to->parts), ring->parts))
		return;
	barrier();
	to->sequence = sequence;
}

SEC("?tp_btf/sample_threshold")
int noise_sample(__u64 *ctx)
{
	struct trigger_cpu *cpu =
		cpu_stats_of_kind(bpf_get_smp_processor_id(), PERF_POKE_TRIGGER_NOISE);
	__u64 ns = ctx[1];
	struct trigger_spike *s;

	if (!cpu || !cpu->watched)
		return 0;
	if (ns < cpu->threshold_ns) {
		cpu_stats_count(cpu, ns);
		return 0;
	}
	s = spike_take(cpu, PERF_POKE_TRIGGER_NOISE, ns);
	if (!s)
		return 0;
	s->actual_ns = s->time_ns;
	s->expected_ns = s->time_ns - ns;
	s->cpu = s->ran_cpu;
	spike_fill_task(s);
	noise_keep_parts(s->ran_cpu, s->sequence, ctx[0]);
	return spike_submit(s);
}

#endif
