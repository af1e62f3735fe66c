/* SPDX-License-Identifier: GPL-2.0-only */
/* The trigger noise: a sample of osnoise with noise over the threshold is a spike. The kernel
 * reports each noise before the sample. */
#ifndef OSNOISE_H
#define OSNOISE_H

#include "spike.h"

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

static __always_inline int noise_part(__u32 class, __s32 number, const void *name, __u64 start,
				      __u64 ns)
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
	return noise_part(TRIGGER_NOISE_IRQ, ctx[0], (const void *)ctx[1], ctx[2], ctx[3]);
}

SEC("?tp_btf/softirq_noise")
int noise_part_softirq(__u64 *ctx)
{
	return noise_part(TRIGGER_NOISE_SOFTIRQ, ctx[0], NULL, ctx[1], ctx[2]);
}

SEC("?tp_btf/thread_noise")
int noise_part_thread(__u64 *ctx)
{
	const struct task_struct *task = (const struct task_struct *)ctx[0];

	return noise_part(TRIGGER_NOISE_THREAD, task->pid, task->comm, ctx[1], ctx[2]);
}

SEC("?tp_btf/nmi_noise")
int noise_part_nmi(__u64 *ctx)
{
	return noise_part(TRIGGER_NOISE_NMI, 0, NULL, ctx[0], ctx[1]);
}

static __always_inline void noise_keep(__u32 cpu, __u64 sequence, __u64 start)
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
	struct trigger_cpu *cpu = cpu_of_kind(bpf_get_smp_processor_id(), PERF_POKE_TRIGGER_NOISE);
	__u64 ns = ctx[1];
	struct trigger_spike *s;

	if (!cpu || !cpu->watched)
		return 0;
	if (ns < cpu->threshold_ns) {
		count(cpu, ns);
		return 0;
	}
	s = take(cpu, PERF_POKE_TRIGGER_NOISE, ns);
	if (!s)
		return 0;
	s->actual_ns = s->time_ns;
	s->expected_ns = s->time_ns - ns;
	s->cpu = s->ran_cpu;
	fill_task(s);
	noise_keep(s->ran_cpu, s->sequence, ctx[0]);
	return tell(s);
}

#endif
