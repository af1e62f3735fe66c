// SPDX-License-Identifier: GPL-2.0-only
/* The reference for the trigger: the older design. One program stores the expected expiry of a
 * timer and another one looks it up when the timer expires. Both are classic tracepoint programs.
 */
#include <linux/types.h>

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct trace_event_raw_hrtimer_start {
	void *hrtimer;
	__s64 expires;
};

struct trace_event_raw_hrtimer_expire_entry {
	void *hrtimer;
	__s64 now;
};

#pragma clang attribute pop

const volatile __s64 threshold_ns = 0;

__u64 spikes = 0;

/* The kernel's own cost of a program of this type, including the clock. */
SEC("tp_btf/hrtimer_expire_entry")
int reference_empty(void *ctx)
{
	return 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 10240);
	__type(key, __u64);
	__type(value, __s64);
} expiries SEC(".maps");

SEC("tp/timer/hrtimer_start")
int reference_start(struct trace_event_raw_hrtimer_start *ctx)
{
	__u64 timer = (__u64)ctx->hrtimer;
	__s64 expires = ctx->expires;

	bpf_map_update_elem(&expiries, &timer, &expires, BPF_ANY);
	return 0;
}

SEC("tp/timer/hrtimer_expire_entry")
int reference_expire(struct trace_event_raw_hrtimer_expire_entry *ctx)
{
	__u64 timer = (__u64)ctx->hrtimer;
	__s64 *expires = bpf_map_lookup_elem(&expiries, &timer);

	if (!expires)
		return 0;
	if (ctx->now - *expires >= threshold_ns)
		__sync_fetch_and_add(&spikes, 1);
	bpf_map_delete_elem(&expiries, &timer);
	return 0;
}
