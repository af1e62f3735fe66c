// SPDX-License-Identifier: GPL-2.0-only
/* Counts the expiries of timers on each CPU and reports each late one. It has no armed state and
 * leaves nothing out, so a session's results can be compared with it. */
#include "kernel_types.h"

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "expiries.h"

char LICENSE[] SEC("license") = "GPL";

const volatile __u64 threshold_ns = 0;
const volatile __u64 function = 0;

/* The bytes after the end of a name are zero. */
const volatile __u64 names[EXPIRIES_NAMES][EXPIRIES_NAME_SIZE / sizeof(__u64)] = {};
const volatile __u32 nr_names = 0;

static __always_inline bool has_name(void)
{
	__u64 comm[EXPIRIES_NAME_SIZE / sizeof(__u64)] = {};

	bpf_get_current_comm(comm, sizeof(comm));
	for (__u32 i = 0; i < EXPIRIES_NAMES && i < nr_names; i++) {
		if (comm[0] == names[i][0] && comm[1] == names[i][1])
			return true;
	}
	return false;
}

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, EXPIRIES_CPUS);
	__type(key, __u32);
	__type(value, struct expiries_cpu);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} late SEC(".maps");

SEC("tp_btf/hrtimer_expire_entry")
int expiries_count(__u64 *ctx)
{
	struct hrtimer *timer = (struct hrtimer *)ctx[0];
	struct expiries_late seen = { .cpu = bpf_get_smp_processor_id() };
	struct expiries_cpu *cpu = bpf_map_lookup_elem(&counts, &seen.cpu);
	__u64 now = ctx[1];
	__s64 latency_ns;

	if (!cpu || (__u64)timer->function != function)
		return 0;
	if (NOW_IS_POINTER && bpf_probe_read_kernel(&now, sizeof(now), (void *)now))
		return 0;
	cpu->count++;
	if (has_name())
		cpu->named++;
	latency_ns = now - timer->node.expires;
	if (latency_ns < (__s64)threshold_ns)
		return 0;
	cpu->late++;
	seen.time_ns = bpf_ktime_get_ns();
	seen.latency_ns = latency_ns;
	if (bpf_ringbuf_output(&late, &seen, sizeof(seen), 0))
		cpu->untold++;
	return 0;
}
