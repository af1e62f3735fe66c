// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "trigger/trigger.h"

#include <errno.h>

#include "bpf/trigger.skel.h"
#include "clock.h"

#define LOAD(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define ADD(field, value) __atomic_fetch_add(&(field), value, __ATOMIC_RELAXED)

static void raise_to(__u64 *field, __u64 value)
{
	__u64 seen = LOAD(*field);

	while (seen < value && !__atomic_compare_exchange_n(field, &seen, value, false,
							    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static void count(struct trigger_cpu *cpu, uint64_t latency_ns)
{
	ADD(cpu->count, 1);
	__atomic_store_n(&cpu->last_ns, latency_ns, __ATOMIC_RELAXED);
	ADD(cpu->sum_ns, latency_ns);
	raise_to(&cpu->min_inverse, ~latency_ns);
	raise_to(&cpu->max_ns, latency_ns);
	ADD(cpu->buckets[trigger_bucket(latency_ns)], 1);
}

static bool is_quiet(uint64_t until_ns)
{
	return until_ns && clock_ns(CLOCK_MONOTONIC) < until_ns;
}

int trigger_count(const struct trigger_counters *counters, int cpu_number, uint64_t latency_ns)
{
	const struct trigger_bpf__data_arming *arming = counters->arming;
	struct trigger_cpu *cpu =
		(size_t)cpu_number < counters->nr_rows ? &counters->rows[cpu_number] : NULL;
	bool is_spike, is_kept;

	if (!cpu || !LOAD(cpu->watched))
		return -ENXIO;
	is_spike = latency_ns >= LOAD(cpu->threshold_ns);
	is_kept = latency_ns >= LOAD(arming->floor_ns[PERF_POKE_TRIGGER_REPORT]);
	/* Whoever arms the session first sets the rest. */
	if (is_spike && is_kept && __atomic_load_n(&arming->armed, __ATOMIC_ACQUIRE) &&
	    !LOAD(arming->disarmed) && !is_quiet(LOAD(arming->quiet_until_ns)))
		return 1;
	count(cpu, latency_ns);
	if (is_spike) {
		ADD(cpu->spikes, 1);
		ADD(cpu->unarmed, is_kept);
	}
	return 0;
}
