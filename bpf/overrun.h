/* SPDX-License-Identifier: GPL-2.0-only */
/* Spikes of what is not over yet: spans that have not ended, and threads that have not run. Each
 * timer that expires on a CPU looks for those over the threshold. */
#ifndef OVERRUN_H
#define OVERRUN_H

#include "spike.h"

/* A set of enum perf_poke_trigger_kind. */
const volatile __u32 overruns = 0;

/* What began last on a CPU. If two share a slot, one is not seen. */
#define OVERRUN_SLOT_BITS 6
#define OVERRUN_SLOTS (1 << OVERRUN_SLOT_BITS)

struct overrun_slots {
	/* None in a slot began before. An ordinary expiry reads only this. */
	__u64 first_ns;
	struct overrun_slot {
		__u64 key;
		__u64 began_ns; /* 0: free */
	} slots[OVERRUN_SLOTS];
};

/* By overrun_table() and CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set to OVERRUN_TABLES for each possible CPU before load */
	__type(key, __u32);
	__type(value, struct overrun_slots);
} overrun_newest SEC(".maps");

static __always_inline struct overrun_slots *overrun_slots_of(__u32 cpu, __u32 kind)
{
	__u32 table = kind == PERF_POKE_TRIGGER_THREAD	 ? 0
		      : kind == PERF_POKE_TRIGGER_WAKEUP ? 1
							 : 2;
	__u32 key = table * nr_cpus + cpu;

	return bpf_map_lookup_elem(&overrun_newest, &key);
}

/* A wakeup may come from another CPU, so a slot is free while it changes. */
static __always_inline void overrun_remember(__u32 cpu, __u32 kind, __u64 key, __u64 began_ns)
{
	struct overrun_slots *newest = overrun_slots_of(cpu, kind);
	/* Pointers differ in the middle bits: Knuth's multiplicative hash. */
	__u64 slot = key * 0x9e3779b97f4a7c15 >> (64 - OVERRUN_SLOT_BITS);

	barrier_var(slot);
	if (!newest || slot >= OVERRUN_SLOTS)
		return;
	__sync_lock_test_and_set(&newest->slots[slot].began_ns, 0);
	newest->slots[slot].key = key;
	__sync_lock_test_and_set(&newest->slots[slot].began_ns, began_ns);
}

/* The threshold, or what keep-worst made of it. */
static __always_inline __u64 overrun_limit(const struct trigger_cpu *cpu, __u32 kind)
{
	__u64 limit = cpu->threshold_ns, floor = floor_ns[kind];

	return limit < floor ? floor : limit;
}

static __always_inline struct overrun_slot *overrun_slot_at(struct overrun_slots *newest,
							    __u32 slot)
{
	barrier_var(slot);
	return slot < OVERRUN_SLOTS ? &newest->slots[slot] : NULL;
}

/* Finds one on this CPU that is over the limit. claim() tells whether it is still open and no
 * spike yet, and makes it one. Those that are keep their slot while no spike can be taken. */
static __always_inline bool overrun_find(__u32 kind, __u64 now,
					 int (*claim)(__u64 key, __u64 began_ns),
					 struct overrun_slot *found)
{
	__u32 key = bpf_get_smp_processor_id();
	struct overrun_slots *newest = overrun_slots_of(key, kind);
	struct trigger_cpu *cpu = cpu_of_kind(key, kind);
	__u64 first_ns = now, before_ns;

	if (!newest || !cpu || !cpu->watched)
		return false;
	before_ns = lateness(now, overrun_limit(cpu, kind));
	if (newest->first_ns > before_ns || armed != 1 || disarmed || now < quiet_until_ns)
		return false;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < OVERRUN_SLOTS; i++) {
		struct overrun_slot *slot = overrun_slot_at(newest, i);
		__u64 began_ns = slot ? slot->began_ns : 0;

		if (!began_ns)
			continue;
		if (began_ns > before_ns) {
			first_ns = began_ns < first_ns ? began_ns : first_ns;
			continue;
		}
		found->key = slot->key;
		found->began_ns = began_ns;
		if (claim(found->key, began_ns))
			return true;
		__sync_val_compare_and_swap(&slot->began_ns, began_ns, 0);
	}
	/* Whatever took a slot meanwhile began later, but for the time that takes. */
	newest->first_ns = first_ns;
	return false;
}

#endif
