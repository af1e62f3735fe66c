/* SPDX-License-Identifier: GPL-2.0-only */
/* Filters of tracepoints, in the kernel's syntax. Only perf and ftrace evaluate these, so a perf
 * event on each CPU counts the hits that pass. It is opened before the raw_tp program is attached:
 * probes of equal priority run in the order of registration, so the count is up to date when the
 * program runs. Since Linux 7.0 a task may migrate between the two; its hit is then taken at the
 * next hit on that CPU. */
#ifndef FILTER_H
#define FILTER_H

#include "cpus.h"

/* By filter and CPU: see filter_key(). Sizes are set before load. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} filter_events SEC(".maps");

/* Counts seen so far. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} filter_seen SEC(".maps");

/* Whether the hit that runs this program passes filter number `filter`. */
static __always_inline bool filter_passes(__u32 filter)
{
	__u32 key = filter * nr_cpus + bpf_get_smp_processor_id();
	__u64 *seen = bpf_map_lookup_elem(&filter_seen, &key);
	struct bpf_perf_event_value value;

	if (!seen || bpf_perf_event_read_value(&filter_events, key, &value, sizeof(value)))
		return false;
	return value.counter > __sync_lock_test_and_set(seen, value.counter);
}

#endif
