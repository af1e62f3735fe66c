/* SPDX-License-Identifier: GPL-2.0-only */
/* The hardware's branch records at a spike. */
#ifndef BRANCHES_H
#define BRANCHES_H

#include "stack.h"

/* 1: the watched CPUs have events that keep the hardware recording. If 0, the kernel may lack the
 * helper (Linux 5.16). */
const volatile __u32 has_branches = 0;

/* By CPU; with has_branches max_entries is set to the number of possible CPUs before load. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct trigger_branches);
} branches SEC(".maps");

static __always_inline long branches_take(__u32 cpu)
{
	struct trigger_branches *to = has_branches ? bpf_map_lookup_elem(&branches, &cpu) : NULL;

	if (!to)
		return 0;
	to->size = bpf_get_branch_snapshot(to->entries, sizeof(to->entries), 0);
	return to->size;
}

/* Copies them to the stacks of the spike: the next late expiry overwrites them, armed or not. */
static __always_inline void branches_keep(__u32 cpu, __u64 sequence)
{
	__u32 key = sequence % TRIGGER_RECENT;
	struct trigger_stacks *to = has_stacks ? bpf_map_lookup_elem(&stacks, &key) : NULL;
	const struct trigger_branches *from =
		has_branches ? bpf_map_lookup_elem(&branches, &cpu) : NULL;

	if (to && from && bpf_probe_read_kernel(&to->branches, sizeof(to->branches), from))
		to->branches.size = 0;
}

/* For BPF_PROG_TEST_RUN: returns the size of the hardware's records, or a negative errno. */
SEC("?raw_tp")
int branches_try(void *ctx)
{
	return branches_take(bpf_get_smp_processor_id());
}

#endif
