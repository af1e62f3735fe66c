/* SPDX-License-Identifier: GPL-2.0-only */
/* Exits of spans that the kernel did not show. It runs a program only once on each CPU: while a
 * thread is preempted within, the other threads' hits are missed, and counted by the kernel. A span
 * whose exit is missed seems to last until a later one. */
#ifndef SPAN_MISSED_BPF_H
#define SPAN_MISSED_BPF_H

#include "cpus.bpf.h"
#include "hit_notes.bpf.h"

/* The kernel's counts of missed hits, by program: their addresses in per-CPU data; 0: none, or
 * unknown. Set by user space before it attaches. */
__u64 span_misses[SPAN_EXITS] = {};

/* What was last seen on a CPU. */
struct span_missed {
	__u64 exits;
	__u64 grown_ns;		     /* when `exits` was seen to have grown; 0: never */
	__u64 addresses[SPAN_EXITS]; /* of the kernel's counts; 0: see span_find_counts() */
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

	for (int i = 0; i < SPAN_EXITS; i++)
		if (seen && span_misses[i])
			seen->addresses[i] = span_misses[i] + offset;
	return 0;
}

static __noinline __u64 span_count_missed_exits(struct span_missed *seen)
{
	__u64 count, sum = 0;

	if (!seen || !span_misses[0])
		return 0;
	if (!seen->addresses[0])
		span_find_counts(seen);
	for (int i = 0; i < SPAN_EXITS; i++) {
		if (seen->addresses[i] &&
		    !bpf_probe_read_kernel(&count, sizeof(count), (void *)seen->addresses[i]))
			sum += count;
	}
	return sum;
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

struct span_look {
	__u64 began_ns, now;
	__u64 missed; /* 1: an exit may have been missed in between */
};

static __always_inline void span_look_at(struct span_look *look, struct span_missed *seen,
					 const struct hit_notes *notes)
{
	span_see_missed_exits(seen, look->now);
	if ((seen && seen->grown_ns > look->began_ns) || hit_lost_since(notes, look->began_ns))
		look->missed = 1;
}

static long span_look_at_cpu(__u32 cpu, struct span_look *look)
{
	__u32 key = 0, exit = HIT_SPAN_EXIT;

	span_look_at(look, bpf_map_lookup_percpu_elem(&span_missed, &key, cpu),
		     bpf_map_lookup_percpu_elem(&hit_notes, &exit, cpu));
	return 0;
}

/* Whether an exit may have been missed since a span began. everywhere: on any CPU, not only this
 * one; before Linux 5.19 no other can be looked at. */
static __noinline bool span_exit_was_missed(__u64 began_ns, bool everywhere)
{
	struct span_look look = { .began_ns = began_ns, .now = bpf_ktime_get_ns() };
	__u32 exit = HIT_SPAN_EXIT;

	if (everywhere &&
	    bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_map_lookup_percpu_elem))
		bpf_loop(nr_cpus, span_look_at_cpu, &look, 0);
	else
		span_look_at(&look, span_missed_here(), bpf_map_lookup_elem(&hit_notes, &exit));
	return look.missed;
}

#endif
