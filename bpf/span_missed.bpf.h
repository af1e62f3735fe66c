/* SPDX-License-Identifier: GPL-2.0-only */
/* Entries and exits of spans that the kernel did not show. It runs a program only once on each CPU:
 * while a thread is preempted within, the other threads' hits are missed, and counted by the
 * kernel. A span whose exit is missed seems to last until a later one. If a filter lets a hit pass
 * that is missed, the next one seems to have passed it. */
#ifndef SPAN_MISSED_BPF_H
#define SPAN_MISSED_BPF_H

#include "cpus.bpf.h"

/* The kernel's counts of missed hits, by enum span_counted: their addresses in per-CPU data; 0:
 * none, or unknown. Set by user space before it attaches. */
__u64 span_misses[SPAN_PROGRAMS] = {};

/* What was last seen on a CPU. */
struct span_missed {
	__u64 entries, exits;
	__u64 grown_ns;			/* when `exits` was seen to have grown; 0: never */
	__u64 addresses[SPAN_PROGRAMS]; /* of the kernel's counts; 0: see span_find_counts() */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct span_missed);
} span_missed SEC(".maps");

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sched_entity___moves {
	__u64 nr_migrations;
};

struct task_struct___moves {
	struct sched_entity___moves se;
};

struct bpf_array {
	void *pptrs[1]; /* of elements in per-CPU data */
};

#pragma clang attribute pop

/* How often the current thread was moved to another CPU. */
static __always_inline __u64 span_thread_moves(void)
{
	const struct task_struct___moves *task = (const void *)bpf_get_current_task_btf();

	return bpf_core_field_exists(task->se.nr_migrations) ? task->se.nr_migrations : 0;
}

static __always_inline struct span_missed *span_missed_here(void)
{
	__u32 key = 0;

	return bpf_map_lookup_elem(&span_missed, &key);
}

/* As a number: the verifier allows no arithmetic with a pointer to a map or a context. */
static __always_inline __u64 address_of(const void *pointer)
{
	__u64 address = 0;

	bpf_probe_read_kernel(&address, sizeof(address), &pointer);
	return address;
}

/* The offset of a CPU's data is that of an element, whose address is known with and without it. */
static __noinline int span_find_counts(struct span_missed *seen)
{
	const struct bpf_array *map = (const void *)address_of(&span_missed);
	__u64 offset = address_of(seen) - (__u64)BPF_CORE_READ(map, pptrs[0]);

	for (int i = 0; i < SPAN_PROGRAMS; i++)
		if (seen && span_misses[i])
			seen->addresses[i] = span_misses[i] + offset;
	return 0;
}

/* Of one program. */
static __always_inline __u64 span_count_misses(const struct span_missed *seen, int program)
{
	__u64 count = 0;

	if (seen->addresses[program])
		bpf_probe_read_kernel(&count, sizeof(count), (void *)seen->addresses[program]);
	return count;
}

static __noinline __u64 span_count_missed_exits(struct span_missed *seen)
{
	if (!seen || !span_misses[SPAN_EXITS])
		return 0;
	if (!seen->addresses[SPAN_EXITS])
		span_find_counts(seen);
	return span_count_misses(seen, SPAN_EXITS) + span_count_misses(seen, SPAN_EXITS + 1);
}

/* What is new is taken for missed at this time. At an entry on this CPU it was missed before. */
static __always_inline void span_see_missed_exits(struct span_missed *seen, __u64 now)
{
	__u64 exits = span_count_missed_exits(seen);

	if (seen && seen->exits != exits) {
		seen->exits = exits;
		seen->grown_ns = now;
	}
}

/* Whether an entry was missed on this CPU since the program ran there. */
static __noinline bool span_missed_an_entry(void)
{
	struct span_missed *seen = span_missed_here();
	__u64 before;

	if (!seen || !span_misses[SPAN_ENTRY])
		return false;
	if (!seen->addresses[SPAN_ENTRY])
		span_find_counts(seen);
	before = seen->entries;
	seen->entries = span_count_misses(seen, SPAN_ENTRY);
	return seen->entries != before;
}

/* An exit on this CPU whose hit was lost between our own programs. */
static __always_inline void span_note_lost_exit(void)
{
	struct span_missed *seen = span_missed_here();

	if (seen)
		seen->grown_ns = bpf_ktime_get_ns();
}

struct span_look {
	__u64 began_ns, now;
	__u64 missed; /* 1: an exit may have been missed in between */
};

static __always_inline void span_look_at(struct span_look *look, struct span_missed *seen)
{
	span_see_missed_exits(seen, look->now);
	if (seen && seen->grown_ns > look->began_ns)
		look->missed = 1;
}

static long span_look_at_cpu(__u32 cpu, struct span_look *look)
{
	__u32 key = 0;

	span_look_at(look, bpf_map_lookup_percpu_elem(&span_missed, &key, cpu));
	return 0;
}

/* Whether an exit may have been missed since a span began. everywhere: on any CPU, not only this
 * one; before Linux 5.19 no other can be looked at. */
static __noinline bool span_exit_was_missed(__u64 began_ns, bool everywhere)
{
	struct span_look look = { .began_ns = began_ns, .now = bpf_ktime_get_ns() };

	if (everywhere &&
	    bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_map_lookup_percpu_elem))
		bpf_loop(nr_cpus, span_look_at_cpu, &look, 0);
	else
		span_look_at(&look, span_missed_here());
	return look.missed;
}

#endif
