/* SPDX-License-Identifier: GPL-2.0-only */
/* Takes a spike: counts, disarms, freezes the trace, pokes the targets, notifies the controller. */
#ifndef SPIKE_BPF_H
#define SPIKE_BPF_H

#include "cpus.bpf.h"
#include "poke.bpf.h"

/* The latencies of the newest spikes. */

/* By CPU: latencies of the activations of its newest spikes, including those measured after the
 * spike. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct trigger_recent);
} recent SEC(".maps");

static __always_inline struct trigger_latencies *latencies_of_spike(struct trigger_recent *found,
								    __u64 sequence)
{
	__u64 place = sequence % TRIGGER_RECENT;

	barrier_var(place);
	return place < TRIGGER_RECENT ? &found->spikes[place] : NULL;
}

static __always_inline struct trigger_latencies *newest_latencies(__u32 cpu)
{
	struct trigger_recent *found = bpf_map_lookup_elem(&recent, &cpu);

	return found ? latencies_of_spike(found, found->newest) : NULL;
}

/* What ran between the expiry of timerlat's timer and its thread, from the events of osnoise. Each
 * time excludes what interrupted it. */

/* By CPU, since timerlat's last timer interrupt; one entry if off. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct trigger_noise);
} noises SEC(".maps");

const volatile __u32 has_noise = 0;
/* The kernel has osnoise:timerlat_sample. */
const volatile __u32 has_samples = 0;

static __always_inline struct trigger_noise *noise_of_cpu(__u32 cpu)
{
	return has_noise ? bpf_map_lookup_elem(&noises, &cpu) : NULL;
}

static __always_inline void noise_begin_sample(void)
{
	struct trigger_noise *noise = noise_of_cpu(bpf_get_smp_processor_id());

	if (noise)
		*noise = (struct trigger_noise){};
}

/* If our own program sees the thread first, osnoise may report the thread that it replaced only
 * later. */
static __always_inline void noise_copy_to_spike(struct trigger_noise *to, __u32 cpu, bool is_thread)
{
	struct trigger_noise *noise = noise_of_cpu(cpu);

	if (!noise)
		return;
	noise->open = is_thread;
	*to = *noise;
}

static __always_inline void noise_complete_spike(struct trigger_noise *noise)
{
	struct trigger_latencies *seen = newest_latencies(bpf_get_smp_processor_id());

	if (!noise->open || !seen)
		return;
	noise->open = 0;
	seen->noise = *noise;
}

#define NOISE(name, member, duration)                                                              \
	SEC("?tp_btf/" #name)                                                                      \
	int noise_##member(__u64 *ctx)                                                             \
	{                                                                                          \
		struct trigger_noise *noise = noise_of_cpu(bpf_get_smp_processor_id());            \
                                                                                                   \
		if (!noise)                                                                        \
			return 0;                                                                  \
		noise->member += ctx[duration];                                                    \
		noise_complete_spike(noise);                                                       \
		return 0;                                                                          \
	}

NOISE(irq_noise, irq_ns, 3)
NOISE(softirq_noise, softirq_ns, 2)
NOISE(thread_noise, thread_ns, 2)
NOISE(nmi_noise, nmi_ns, 1)

/* Printed at the spike and by trigger_resume(). Perf events on bpf_trace_printk filter for these
 * messages, and pause and resume the trace of this CPU. Empty: no such events. */
const volatile char pause_message[TRIGGER_MESSAGE_SIZE] = "";
const volatile char resume_message[TRIGGER_MESSAGE_SIZE] = "";

/* By kind; 0: not watched. See threshold_ns of struct trigger_cpu. */
const volatile __u64 thresholds_ns[TRIGGER_KINDS] = {};

/* What decides whether a latency is taken. A map of its own, because other processes read it: see
 * TRIGGER_LAYOUT. */
#define SEC_ARMING SEC(".data.arming")

/* Set by user space, by kind: the minimum latency of a capture, and the time before which none is
 * taken. */
__u64 floor_ns[TRIGGER_KINDS] SEC_ARMING = {};
__u64 quiet_until_ns SEC_ARMING = 0;
/* 1: a spike may be taken. Whoever changes it from 1 to 0 owns the next capture:
 * - Programs do it by compare-and-swap: spike_claim(), trigger_poke and trigger_rtla. Each then
 *   submits one record, or, if the ring has no room for it, gives back by storing 1. For
 *   trigger_rtla, rtla_hold does either.
 * - The controller does it by compare-and-swap at the end of the session.
 * - The controller alone sets it to 1 again, by trigger_arm(), after it has read the record and
 *   copied the trace. While captures may not be taken (`paused` of a session), it stays 0.
 * All changes by programs are fully ordered. trigger_arm() is a store with release, and what the
 * controller stored before it, such as the members above, is seen by a program that starts after
 * it. A program reads these before its compare-and-swap: one that the arming overtakes in between
 * may go by the old values, for one spike. spike_claim() checks all of them, trigger_rtla only
 * `disarmed`, trigger_poke none. Others only look at `armed`: overrun_find() and
 * holder_interrupted() to save work, and reported_count_latency(), with acquire, to decide whether
 * to run a program. */
__u32 armed SEC_ARMING = 0;
/* 1: the caller has disarmed the session. Any thread sets it at any time, and owns nothing. */
__u32 disarmed SEC_ARMING = 0;

__u64 sequence = 0;
/* Set by user space: the trace may not be frozen now, because the one before is still read. */
__u32 pause_held = 0;

#define RAISE_TRIES 8

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* at most two records each time it is armed */
} spikes SEC(".maps");

static __always_inline void spike_fill_task(struct trigger_spike *s)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();

	s->pid = pid_tgid >> 32;
	s->tid = pid_tgid;
	bpf_get_current_comm(s->comm, sizeof(s->comm));
}

/* The thread whose latency it is. */
static __always_inline void spike_fill_late_task(struct trigger_spike *s,
						 const struct task_struct *task)
{
	s->late.tid = task->pid;
	s->late.pid = task->tgid;
	s->late.policy = task->policy;
	s->late.rt_priority = task->rt_priority;
	s->late.nice = task->static_prio - TRIGGER_NICE_0;
	bpf_probe_read_kernel_str(s->late.comm, sizeof(s->late.comm), task->comm);
}

/* Nothing in the idle task, whose tid is 0. */
static __always_inline void spike_fill_late_current(struct trigger_spike *s)
{
	spike_fill_late_task(s, (void *)bpf_get_current_task_btf());
}

static __always_inline void cpu_stats_add(__u64 *field, __u64 value, bool atomic)
{
	if (atomic)
		__sync_fetch_and_add(field, value);
	else
		*field += value;
}

static __always_inline void cpu_stats_raise(__u64 *field, __u64 value, bool atomic)
{
	__u64 seen = *field, found;

	if (!atomic && seen < value)
		*field = value;
	/* Others seldom raise it at the same time. */
	for (int i = 0; atomic && i < RAISE_TRIES && seen < value; i++) {
		found = __sync_val_compare_and_swap(field, seen, value);
		seen = found == seen ? value : found;
	}
}

static __always_inline void cpu_stats_count_as(struct trigger_cpu *cpu, __u64 latency_ns,
					       bool atomic)
{
	__u64 bucket;

	cpu_stats_add(&cpu->count, 1, atomic);
	cpu->last_ns = latency_ns;
	cpu_stats_add(&cpu->sum_ns, latency_ns, atomic);
	cpu_stats_raise(&cpu->min_inverse, ~latency_ns, atomic);
	cpu_stats_raise(&cpu->max_ns, latency_ns, atomic);
	bucket = trigger_bucket(latency_ns);
	/* Makes the compiler check the register that it uses: the verifier of Linux 6.1 does not
	 * track copies. */
	barrier_var(bucket);
	if (bucket < TRIGGER_BUCKETS)
		cpu_stats_add(&cpu->buckets[bucket], 1, atomic);
}

static __always_inline void cpu_stats_count(struct trigger_cpu *cpu, __u64 latency_ns)
{
	cpu_stats_count_as(cpu, latency_ns, false);
}

/* For latencies at or over the threshold, of which there are few. Atomic, because user space counts
 * reports at the same time. */
static __noinline int cpu_stats_count_late(struct trigger_cpu *cpu, __u64 latency_ns)
{
	cpu_stats_count_as(cpu, latency_ns, true);
	return 0;
}

/* irq_work is LIFO: queue the controller's wakeup first, so that the pokes run before it.
 * spike_submit() queues it again. */
static __always_inline void spike_wake_last(void)
{
	void *record = poke_ways ? bpf_ringbuf_reserve(&spikes, sizeof(__u64), 0) : NULL;

	if (record)
		bpf_ringbuf_discard(record, BPF_RB_FORCE_WAKEUP);
}

/* At the exit of a span interrupts are on. An interrupt before the freeze would be traced, and so
 * would a task that it switches to, if only when the lock of the ring buffer is released. For
 * kernels without these functions there is an object without them: see poke.bpf.h. */
#ifdef NO_IRQ_SAVE
static __always_inline void bpf_local_irq_save(unsigned long *flags)
{
}

static __always_inline void bpf_local_irq_restore(unsigned long *flags)
{
}
#else
extern void bpf_local_irq_save(unsigned long *flags) __ksym;
extern void bpf_local_irq_restore(unsigned long *flags) __ksym;
#endif

/* Freezes the trace of this CPU, if it has one. Returns the time, or 0. The trace shows all that
 * precedes this: what can wait is done later. */
static __noinline __u64 spike_freeze_trace(void)
{
	if (!pause_message[0] || pause_held || !cpu_is_watched(bpf_get_smp_processor_id()))
		return 0;
	/* -EBUSY: three others on this CPU are printing. The controller freezes the trace. */
	if (print_message(pause_message) < 0)
		return 0;
	return bpf_ktime_get_ns();
}

/* Pokes the targets. spike_freeze_trace() must precede, spike_submit() must follow. tasks: may call
 * functions that need the target's task, which not all program types may. */
static __noinline int spike_poke_targets(struct trigger_spike *s, bool tasks)
{
	s->ran_cpu = bpf_get_smp_processor_id();
	s->ran_watched = cpu_is_watched(s->ran_cpu);
	s->sequence = __sync_fetch_and_add(&sequence, 1) + 1;
	spike_wake_last();
	s->unpoked = POKE_HAS_TASK && !tasks;
	if (!POKE_HAS_TASK || tasks)
		poke_targets(s->sequence);
	return 0;
}

/* Reserves the record of the spike that disarmed the session. Must precede the freeze, because a
 * trace without a record would never be resumed. NULL: the ring is full, and the session is armed
 * again. Inline, like spike_take(): the verifier of Linux 6.1 forgets that a caller has checked for
 * NULL. */
static __always_inline struct trigger_spike *spike_reserve_record(struct trigger_cpu *cpu)
{
	struct trigger_spike *s = bpf_ringbuf_reserve(&spikes, sizeof(*s), 0);

	if (s)
		return s;
	cpu_stats_add(&cpu->unarmed, 1, true);
	__sync_lock_test_and_set(&armed, 1);
	return NULL;
}

/*
 * Disarms the session for a spike. False: the spike is only counted.
 *
 * The floor and the quiet time are read before the compare-and-swap, and the controller may change
 * them and arm in between. No spike is lost or taken twice by that: the swap alone decides who owns
 * the capture, once for each arming, and each owner submits one record or gives back. The spike
 * came before the change, and an old value means one of these:
 * - A floor that was lower: one more capture, which --keep-worst removes.
 * - A floor that was higher, until --max-disk removed captures: the spike counts as one below it.
 * - A quiet time that ended earlier: one capture within the cooldown.
 */
static __always_inline bool spike_claim(struct trigger_cpu *cpu, __u32 kind, __u64 latency_ns,
					__u64 now)
{
	cpu_stats_add(&cpu->spikes, 1, true);
	if (kind < TRIGGER_KINDS && latency_ns < floor_ns[kind])
		return false;
	if (!disarmed && now >= quiet_until_ns && __sync_val_compare_and_swap(&armed, 1, 0) == 1)
		return true;
	cpu_stats_add(&cpu->unarmed, 1, true);
	return false;
}

/* Takes a spike: freezes the trace and returns the record, for spike_submit(). NULL: only counted.
 * counts: the latency was not counted yet. tasks: see spike_poke_targets(). now: the time of the
 * spike. Each path checks the record for NULL once: the verifier of Linux 6.1 forgets it. */
static __always_inline struct trigger_spike *spike_take_at(struct trigger_cpu *cpu, __u32 kind,
							   __u64 latency_ns, __u64 now, bool tasks,
							   bool counts)
{
	struct trigger_spike *s = NULL;
	unsigned long flags;
	__u64 frozen_ns;

	bpf_local_irq_save(&flags);
	if (spike_claim(cpu, kind, latency_ns, now))
		s = spike_reserve_record(cpu);
	if (!s) {
		bpf_local_irq_restore(&flags);
		if (counts)
			cpu_stats_count_late(cpu, latency_ns);
		return NULL;
	}
	frozen_ns = spike_freeze_trace();
	bpf_local_irq_restore(&flags);
	__builtin_memset(s, 0, sizeof(*s));
	s->kind = kind;
	s->latency_ns = latency_ns;
	s->time_ns = now;
	s->frozen_ns = frozen_ns;
	spike_poke_targets(s, tasks);
	if (counts)
		cpu_stats_count_late(cpu, latency_ns);
	return s;
}

static __always_inline struct trigger_spike *spike_take(struct trigger_cpu *cpu, __u32 kind,
							__u64 latency_ns)
{
	return spike_take_at(cpu, kind, latency_ns, bpf_ktime_get_ns(), true, true);
}

/* For programs of the type raw_tp. */
static __always_inline struct trigger_spike *spike_take_raw(struct trigger_cpu *cpu, __u32 kind,
							    __u64 latency_ns)
{
	return spike_take_at(cpu, kind, latency_ns, bpf_ktime_get_ns(), false, true);
}

static __always_inline void spike_note_latencies(const struct trigger_spike *s)
{
	__u32 key = s->cpu;
	struct trigger_recent *found = bpf_map_lookup_elem(&recent, &key);
	struct trigger_latencies *seen;

	if (!found || s->kind > PERF_POKE_TRIGGER_USER)
		return;
	found->newest = s->sequence;
	seen = latencies_of_spike(found, s->sequence);
	if (!seen)
		return;
	seen->sequence = s->sequence;
	seen->timer = s->timer;
	seen->expected_ns = s->expected_ns;
	seen->irq_ns = s->irq_ns;
	seen->thread_ns = s->thread_ns;
	seen->user_ns = s->user_ns;
	noise_copy_to_spike(&seen->noise, key, s->kind == PERF_POKE_TRIGGER_THREAD && !has_samples);
}

static __noinline int spike_submit(struct trigger_spike *s)
{
	spike_note_latencies(s);
	bpf_ringbuf_submit(s, BPF_RB_FORCE_WAKEUP);
	return 0;
}

/* -- Spikes of what is not over yet: spans that have not ended, and threads that have not run. Each
 * timer that expires on a CPU looks for those over the threshold. */

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

/* By kind and CPU: see overrun_slots_of(). */
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
	struct trigger_cpu *cpu = cpu_stats_of_kind(key, kind);
	__u64 first_ns = now, before_ns;

	if (!newest || !cpu || !cpu->watched)
		return false;
	before_ns = latency_between(now, overrun_limit(cpu, kind));
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
