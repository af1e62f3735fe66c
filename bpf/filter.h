/* SPDX-License-Identifier: GPL-2.0-only */
/* Filters of tracepoints, in the kernel's own syntax. Only perf and ftrace evaluate these, so a
 * perf event on each CPU counts the hits that pass. It is opened before the raw_tp program is
 * attached: probes of one priority run in the order in which they were registered, so that the
 * count is up to date when the program runs. From Linux 7.0 on a task may be migrated between the
 * two: its hit is then taken at the next one on that CPU. */
#ifndef FILTER_H
#define FILTER_H

#include "cpus.h"

/* By filter, then by CPU: see filter_key(). Sizes are set before load. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} filter_events SEC(".maps");

/* The counts that have been seen. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} filter_seen SEC(".maps");

/* Whether the hit of the tracepoint for which the program runs passes the filter of this number. */
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
