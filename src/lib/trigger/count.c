// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "trigger/count.h"

#include <errno.h>

#include "trigger/state.h"

#define LOAD(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define ADD(field, value) __atomic_fetch_add(&(field), value, __ATOMIC_RELAXED)

static void raise_to(__u64 *field, __u64 value)
{
	__u64 seen = LOAD(*field);

	while (seen < value && !__atomic_compare_exchange_n(field, &seen, value, false,
							    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* A row is of a CPU and a kind: see bpf/linear.h. */
static void count_linear(struct trigger *trigger, __u64 watched, uint64_t latency_ns)
{
	uint64_t entries = trigger->linear_row - 1;
	uint64_t bucket = latency_ns / trigger->skel->rodata->linear_width_ns;

	if (watched >= TRIGGER_LINEAR)
		ADD(trigger->linear[(watched - TRIGGER_LINEAR) * trigger->linear_row +
				    (bucket < entries ? bucket : entries)],
		    1);
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

bool trigger_count_below(struct trigger_cpu *cpu, uint64_t latency_ns)
{
	if (cpu->watched != TRIGGER_WATCHED || latency_ns >= LOAD(cpu->threshold_ns))
		return false;
	count(cpu, latency_ns);
	return true;
}

int trigger_count(struct trigger *trigger, enum perf_poke_trigger_kind kind, int cpu_number,
		  uint64_t latency_ns)
{
	const struct trigger_bpf *skel = trigger->skel;
	struct trigger_cpu *cpu = cpu_number < trigger->nr_possible
					  ? trigger_find_cpu(trigger, cpu_number, kind)
					  : NULL;
	bool is_spike, is_kept, is_wanted;

	if (!cpu || !cpu->watched)
		return -ENXIO;
	is_wanted = latency_ns >= LOAD(cpu->threshold_ns);
	is_spike = latency_ns >= LOAD(skel->bss->spike_ns[kind]);
	is_kept = latency_ns >= LOAD(skel->bss->floor_ns[kind]);
	if (is_wanted && (is_kept || !is_spike) && LOAD(skel->bss->armed) &&
	    !LOAD(skel->bss->disarmed))
		return 1;
	count(cpu, latency_ns);
	count_linear(trigger, cpu->watched, latency_ns);
	if (is_spike) {
		ADD(cpu->spikes, 1);
		ADD(cpu->unarmed, is_kept);
	}
	return 0;
}
