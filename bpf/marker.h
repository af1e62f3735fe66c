/* SPDX-License-Identifier: GPL-2.0-only */
/* The trigger marker: text that a program writes to a trace_marker is a spike. */
#ifndef MARKER_H
#define MARKER_H

#include "marker_text.h"
#include "spike.h"
#include "stack.h"

#include <linux/ptrace.h>

#include <bpf/bpf_tracing.h>

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

/* tasks: see poke(). */
static __noinline int marker_spike(void *ctx, struct trigger_cpu *cpu,
				   const struct marker_text *marker, __u64 latency_ns, __u64 tasks)
{
	struct trigger_spike *s = take_spike(cpu, PERF_POKE_TRIGGER_MARKER, latency_ns,
					     bpf_ktime_get_ns(), tasks, true);

	if (!s)
		return 0;
	s->actual_ns = s->time_ns;
	s->expected_ns = s->time_ns - latency_ns;
	s->cpu = s->ran_cpu;
	fill_task(s);
	fill_late_current(s);
	__builtin_memcpy(s->label, marker->text, sizeof(s->label));
	stack_at_spike(ctx, s->sequence);
	return tell(s);
}

/* A separate function has few variables: otherwise the verifier of Linux 6.1 loses track of a loop
 * counter outside of a register. */
static __noinline int marker_take(struct marker_scan *scan, __u8 character)
{
	marker_step(scan, marker_classes, marker_next, character);
	return 0;
}

static __noinline int marker_look(void *ctx, const void *text, __u64 size, __u64 tasks)
{
	struct trigger_cpu *cpu = cpu_of_kind(bpf_get_smp_processor_id(), PERF_POKE_TRIGGER_MARKER);
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
		marker_take(&scan, marker.text[i]);
	if (scan.state != marker_length)
		return 0;
	if (scan.latency_ns < cpu->threshold_ns) {
		count(cpu, scan.latency_ns);
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
		marker_look(ctx, (const void *)ctx[1], ctx[2], true);
	return 0;
}

/* The same for kernels whose functions have no trampolines. */
SEC("?kprobe/vfs_write")
int marker_write_probe(struct pt_regs *ctx)
{
	const struct file *file = (const struct file *)PT_REGS_PARM1(ctx);

	if ((__u64)BPF_CORE_READ(file, f_op, write) == marker_function)
		marker_look(ctx, (const void *)PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx), false);
	return 0;
}

#endif
