/* SPDX-License-Identifier: GPL-2.0-only */
/* Hits of a tracepoint that are filtered, or whose fields are read. Only perf and ftrace evaluate a
 * filter, and only tracepoint programs see the fields. But perf runs these as part of an event, and
 * drops what they cause, such as the freeze. So a tracepoint program notes each hit. Then an event
 * of perf, one on each CPU, counts it if it passes the filter. A raw_tp program, which is attached
 * last and so runs last, takes the note. A thread that is preempted in between still finds its own:
 * a hit is never taken for that of another thread. It is lost if its thread is moved to another
 * CPU, or more than one other thread has hits meanwhile. */
#ifndef HIT_NOTES_BPF_H
#define HIT_NOTES_BPF_H

#include "cpus.bpf.h"

/* By enum trigger_hit and CPU. Sizes are set before load. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} filter_events SEC(".maps");

struct hit_note {
	__u64 thread; /* its ID plus 1; 0: no hit, or taken */
	__u64 time_ns;
	__u64 value; /* of a field */
	__u64 count; /* of the filter, before the hit */
};

/* Of a CPU: the newest one, and the one before if nobody had taken it. */
struct hit_notes {
	struct hit_note newest, before;
	__u64 before_passed;
	__u64 lost_ns; /* when the newest of those was noted that nobody took; 0: none */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, HITS);
	__type(key, __u32);
	__type(value, struct hit_notes);
} hit_notes SEC(".maps");

/* How many hits have passed the filter on this CPU. */
static __noinline __u64 hit_count_passed(__u32 which)
{
	__u32 key = which * nr_cpus + bpf_get_smp_processor_id();
	struct bpf_perf_event_value value = {};

	bpf_perf_event_read_value(&filter_events, key, &value, sizeof(value));
	return value.counter;
}

/* Returns what a tracepoint program has to: 0 would hide the hit from all perf events on the
 * tracepoint. */
static __always_inline int hit_note(__u32 which, __u64 value, bool filtered)
{
	__u64 count = filtered ? hit_count_passed(which) : 0;
	struct hit_notes *notes = bpf_map_lookup_elem(&hit_notes, &which);

	if (!notes)
		return 1;
	if (notes->newest.thread) {
		if (notes->before.thread)
			notes->lost_ns = notes->before.time_ns;
		notes->before = notes->newest;
		notes->before_passed = !filtered || count > notes->newest.count;
	}
	notes->newest.time_ns = bpf_ktime_get_ns();
	notes->newest.value = value;
	notes->newest.count = count;
	notes->newest.thread = bpf_get_current_pid_tgid() + 1;
	return 1;
}

/* Takes the note of this thread's hit. Whether there is one, and it passed. value: may be NULL. The
 * thread may be preempted here, too: a note is read before its thread, which changes with it. The
 * counter is read for this thread's own note only: others come here without a hit. */
static __always_inline bool hit_take(__u32 which, bool filtered, __u64 *value)
{
	__u64 thread = bpf_get_current_pid_tgid() + 1, noted;
	struct hit_notes *notes = bpf_map_lookup_elem(&hit_notes, &which);
	struct hit_note *note;
	bool passed = true;

	if (!notes)
		return false;
	note = &notes->newest;
	noted = note->value;
	if (filtered && note->thread == thread)
		passed = hit_count_passed(which) > note->count;
	barrier();
	if (note->thread != thread) {
		note = &notes->before;
		noted = note->value;
		passed = notes->before_passed;
		barrier();
	}
	if (note->thread != thread)
		return false;
	note->thread = 0;
	if (value)
		*value = noted;
	return passed;
}

/* Whether a hit since then was lost, or may be: nobody has taken it yet. */
static __always_inline bool hit_lost_since(const struct hit_notes *notes, __u64 time_ns)
{
	return notes && (notes->lost_ns > time_ns ||
			 (notes->newest.thread && notes->newest.time_ns > time_ns) ||
			 (notes->before.thread && notes->before.time_ns > time_ns));
}

#endif
