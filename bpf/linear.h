/* SPDX-License-Identifier: GPL-2.0-only */
/* An optional histogram with buckets of equal width. */
#ifndef LINEAR_H
#define LINEAR_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "trigger.h"

const volatile __u32 linear_entries = 0;
const volatile __u64 linear_width_ns = 1;

/* For each watched CPU, a row of `linear_entries` buckets and one for larger latencies; then the
 * same for the next kind. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set before load */
	__type(key, __u32);
	__type(value, __u64);
} linear SEC(".maps");

static __always_inline void add(__u64 *field, __u64 value, bool atomic)
{
	if (atomic)
		__sync_fetch_and_add(field, value);
	else
		*field += value;
}

static __always_inline void linear_count(__u64 watched, __u64 latency_ns, bool atomic)
{
	__u64 bucket, *count;
	__u32 key;

	if (watched < TRIGGER_LINEAR)
		return;
	bucket = latency_ns / linear_width_ns;
	if (bucket > linear_entries)
		bucket = linear_entries;
	key = (watched - TRIGGER_LINEAR) * (linear_entries + 1) + bucket;
	count = bpf_map_lookup_elem(&linear, &key);
	if (count)
		add(count, 1, atomic);
}

#endif
