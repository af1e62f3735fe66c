/* SPDX-License-Identifier: GPL-2.0-only */
/* What ran between the expiry of timerlat's timer and its thread, from the events of osnoise. Each
 * time excludes what interrupted it. */
#ifndef NOISE_H
#define NOISE_H

#include "recent.h"

/* By CPU, since timerlat's last timer interrupt; one entry if off. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct trigger_noise);
} noises SEC(".maps");

const volatile __u32 has_noise = 0;
/* The kernel has osnoise:timerlat_sample. */
const volatile __u32 has_samples = 0;

static __always_inline struct trigger_noise *noise_of(__u32 cpu)
{
	return has_noise ? bpf_map_lookup_elem(&noises, &cpu) : NULL;
}

static __always_inline void noise_begin(void)
{
	struct trigger_noise *noise = noise_of(bpf_get_smp_processor_id());

	if (noise)
		*noise = (struct trigger_noise){};
}

/* If our own program sees the thread first, osnoise may report the thread that it replaced only
 * later. */
static __always_inline void noise_copy(struct trigger_noise *to, __u32 cpu, bool is_thread)
{
	struct trigger_noise *noise = noise_of(cpu);

	if (!noise)
		return;
	noise->open = is_thread;
	*to = *noise;
}

static __always_inline void noise_late(struct trigger_noise *noise)
{
	struct trigger_latencies *seen = newest_latencies(bpf_get_smp_processor_id());

	if (!noise->open || !seen)
		return;
	noise->open = 0;
	seen->noise = *noise;
}

#define NOISE(name, member, duration)                                                              \
	SEC("?tp_btf/" #name)                                                                      \
	int noise_##member(__u64 *ctx)                                                             \
	{                                                                                          \
		struct trigger_noise *noise = noise_of(bpf_get_smp_processor_id());                \
                                                                                                   \
		if (!noise)                                                                        \
			return 0;                                                                  \
		noise->member += ctx[duration];                                                    \
		noise_late(noise);                                                                 \
		return 0;                                                                          \
	}

NOISE(irq_noise, irq_ns, 3)
NOISE(softirq_noise, softirq_ns, 2)
NOISE(thread_noise, thread_ns, 2)
NOISE(nmi_noise, nmi_ns, 1)

#endif
