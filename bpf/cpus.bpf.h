/* SPDX-License-Identifier: GPL-2.0-only */
/* Statistics of each CPU, and which CPUs are watched. */
#ifndef CPUS_BPF_H
#define CPUS_BPF_H

#include "kernel_types.h"

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "trigger.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set to the number of possible CPUs before load */
	__type(key, __u32);
	__type(value, struct trigger_cpu);
} cpus SEC(".maps");

/* Statistics of the other kinds: all CPUs of the first kind, then of the next. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct trigger_cpu);
} cpus_more SEC(".maps");
const volatile __u32 nr_cpus = 1;

static __always_inline struct trigger_cpu *cpu_stats_of_kind(__u32 cpu, __u32 kind)
{
	__u32 key = (kind - 1) * nr_cpus + cpu;

	if (kind == PERF_POKE_TRIGGER_IRQ)
		return bpf_map_lookup_elem(&cpus, &cpu);
	return bpf_map_lookup_elem(&cpus_more, &key);
}

static __always_inline bool cpu_is_watched(__u32 key)
{
	struct trigger_cpu *cpu = bpf_map_lookup_elem(&cpus, &key);

	return cpu && cpu->watched;
}

/* Timers with slack expire early, and clocks of CPUs differ. */
static __always_inline __u64 latency_between(__u64 now, __u64 expected)
{
	__s64 late = now - expected;

	return late > 0 ? late : 0;
}

#endif
