/* SPDX-License-Identifier: GPL-2.0-only */
/* The latencies of the newest spikes. */
#ifndef RECENT_H
#define RECENT_H

#include "cpus.h"

/* By CPU: latencies of the activations of its newest spikes, including those measured after the
 * spike. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct trigger_recent);
} recent SEC(".maps");

static __always_inline struct trigger_latencies *latencies_of(struct trigger_recent *found,
							      __u64 sequence)
{
	__u64 place = sequence % TRIGGER_RECENT;

	barrier_var(place);
	return place < TRIGGER_RECENT ? &found->spikes[place] : NULL;
}

static __always_inline struct trigger_latencies *newest_latencies(__u32 cpu)
{
	struct trigger_recent *found = bpf_map_lookup_elem(&recent, &cpu);

	return found ? latencies_of(found, found->newest) : NULL;
}

#endif
