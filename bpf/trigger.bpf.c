// SPDX-License-Identifier: GPL-2.0-only
/* The trigger: takes the latency of every hrtimer that expires on a watched CPU, keeps statistics,
 * and on the first latency at or over the threshold after arming, freezes the trace, pokes the
 * targets, and tells the controller. */
#include "kernel_types.h"

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "poke.h"
#include "trigger.h"

char LICENSE[] SEC("license") = "GPL";

const volatile __u64 threshold_ns = 0;
const volatile __u64 function = 0; /* of the timers to look at; 0 for all */

/* Printed at the spike, and by trigger_resume(): perf events on the tracepoint bpf_trace_printk
 * filter for them, and pause and resume the trace of this CPU there and then. Empty: there are
 * none. */
const volatile char pause_message[TRIGGER_MESSAGE_SIZE] = "";
const volatile char resume_message[TRIGGER_MESSAGE_SIZE] = "";

/* Set by user space once it has measured: more than the thresholds that are constant. */
__u64 measured_ns[TRIGGER_KINDS] = {};
/* Set by user space: what a latency must be, by kind, to be worth a capture; and until when none is
 * taken. */
__u64 floor_ns[TRIGGER_KINDS] = {};
__u64 quiet_until_ns = 0;

/* 1 while a spike may be taken. User space sets it, the program that takes the spike clears it. */
__u32 armed = 0;
/* 1: user space does not want any until it clears this. */
__u32 disarmed = 0;
__u64 sequence = 0;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set to the number of possible CPUs before load */
	__type(key, __u32);
	__type(value, struct trigger_cpu);
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* there are at most two records for each arming */
} spikes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct trigger_session);
} session SEC(".maps");

static __always_inline bool is_watched(__u32 key)
{
	struct trigger_cpu *cpu = bpf_map_lookup_elem(&cpus, &key);

	return cpu && cpu->watched;
}

#include "linear.h"
#include "poke/poke.h"

/* Timers with slack expire before their time, and clocks of CPUs differ. */
static __always_inline __u64 lateness(__u64 now, __u64 expected)
{
	__s64 late = now - expected;

	return late > 0 ? late : 0;
}

static __always_inline void fill_task(struct trigger_spike *s)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();

	s->pid = pid_tgid >> 32;
	s->tid = pid_tgid;
	bpf_get_current_comm(s->comm, sizeof(s->comm));
}

static __always_inline void count(struct trigger_cpu *cpu, __u64 latency_ns)
{
	__u64 inverse = ~latency_ns;
	__u64 bucket;

	cpu->count++;
	cpu->last_ns = latency_ns;
	cpu->sum_ns += latency_ns;
	if (inverse > cpu->min_inverse)
		cpu->min_inverse = inverse;
	if (latency_ns > cpu->max_ns)
		cpu->max_ns = latency_ns;
	bucket = trigger_bucket(latency_ns);
	/* So that the register that is checked is the one that is used: the verifier of Linux 6.1
	 * does not know that copies are equal. */
	barrier_var(bucket);
	if (bucket < TRIGGER_BUCKETS)
		cpu->buckets[bucket]++;
	linear_count(cpu->watched, latency_ns);
}

/* irq_work is LIFO: queue the controller's wakeup first, so that the pokes run before it. tell()
 * queues it again. */
static __always_inline void wake_last(void)
{
	void *record = poke_ways ? bpf_ringbuf_reserve(&spikes, sizeof(__u64), 0) : NULL;

	if (record)
		bpf_ringbuf_discard(record, BPF_RB_FORCE_WAKEUP);
}

/* Freezes the trace of this CPU and pokes the targets. tell() must follow. tasks: whether functions
 * may be called that need the target's task, which not every type of program may. */
static __noinline int hold(struct trigger_spike *s, bool tasks)
{
	s->ran_cpu = bpf_get_smp_processor_id();
	s->ran_watched = is_watched(s->ran_cpu);
	/* First of all: what comes after is not of interest. */
	if (pause_message[0] && s->ran_watched) {
		bpf_trace_printk((const char *)pause_message, sizeof(pause_message));
		s->frozen_ns = bpf_ktime_get_ns();
	}
	s->sequence = __sync_fetch_and_add(&sequence, 1) + 1;
	wake_last();
	s->unpoked = POKE_HAS_TASK && !tasks;
	if (!POKE_HAS_TASK || tasks)
		poke_targets(s->sequence);
	return 0;
}

/* The record of a spike that has disarmed the session. It is reserved before anything is frozen:
 * a trace that the controller is not told of would never be resumed. NULL: the ring is full, and
 * the session is armed again. Inline, as the next: the verifier of Linux 6.1 does not know that
 * what was not NULL once is not when a caller looks again. */
static __always_inline struct trigger_spike *reserve(struct trigger_cpu *cpu)
{
	struct trigger_spike *s = bpf_ringbuf_reserve(&spikes, sizeof(*s), 0);

	if (s)
		return s;
	cpu->unarmed++;
	__sync_lock_test_and_set(&armed, 1);
	return NULL;
}

/* The record of a spike that is taken, with the trace frozen: tell() must follow. NULL: it is
 * counted only. */
static __always_inline struct trigger_spike *take(struct trigger_cpu *cpu, __u32 kind,
						  __u64 latency_ns)
{
	__u64 now = bpf_ktime_get_ns();
	struct trigger_spike *s;

	cpu->spikes++;
	if (kind < TRIGGER_KINDS && latency_ns < floor_ns[kind])
		return NULL;
	if (disarmed || now < quiet_until_ns || __sync_val_compare_and_swap(&armed, 1, 0) != 1) {
		cpu->unarmed++;
		return NULL;
	}
	s = reserve(cpu);
	if (!s)
		return NULL;
	__builtin_memset(s, 0, sizeof(*s));
	s->kind = kind;
	s->latency_ns = latency_ns;
	s->time_ns = now;
	hold(s, kind != TRIGGER_REPORT);
	return s;
}

/* Of each CPU, the latencies of the activations that its newest spikes were in, those that came
 * after the spike too. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct trigger_recent);
} recent SEC(".maps");

static __always_inline struct trigger_latencies *latencies_of(struct trigger_recent *found,
							      __u64 sequence)
{
	__u64 place = sequence % TRIGGER_RECENT;

	barrier_var(place);
	return place < TRIGGER_RECENT ? &found->spikes[place] : NULL;
}

static __always_inline struct trigger_latencies *newest_latencies(__u32 cpu)
{
	struct trigger_recent *found = bpf_map_lookup_elem(&recent, &cpu);

	return found ? latencies_of(found, found->newest) : NULL;
}

#include "noise.h"

static __always_inline void note_spike(const struct trigger_spike *s)
{
	__u32 key = s->cpu;
	struct trigger_recent *found = bpf_map_lookup_elem(&recent, &key);
	struct trigger_latencies *seen;

	if (!found || s->kind > TRIGGER_USER)
		return;
	found->newest = s->sequence;
	seen = latencies_of(found, s->sequence);
	if (!seen)
		return;
	seen->sequence = s->sequence;
	seen->timer = s->timer;
	seen->expected_ns = s->expected_ns;
	seen->irq_ns = s->irq_ns;
	seen->thread_ns = s->thread_ns;
	seen->user_ns = s->user_ns;
	noise_copy(&seen->noise, key, s->kind == TRIGGER_THREAD && !has_samples);
}

static __noinline int tell(struct trigger_spike *s)
{
	note_spike(s);
	bpf_ringbuf_submit(s, BPF_RB_FORCE_WAKEUP);
	return 0;
}

#include "stack.h"

#include "branches.h"

#include "latency.h"
#include "report.h"
#include "rtla.h"

static __always_inline __u64 clock_offset(struct hrtimer *timer)
{
	return bpf_core_field_exists(timer->base->offset) ? BPF_CORE_READ(timer, base, offset) : 0;
}

static __noinline int spike(void *ctx, struct trigger_cpu *cpu, struct hrtimer *timer, __u64 now,
			    __u64 latency_ns)
{
	struct trigger_spike *s = take(cpu, TRIGGER_IRQ, latency_ns);

	if (!s)
		return 0;
	s->irq_ns = latency_ns;
	s->actual_ns = now - clock_offset(timer);
	s->expected_ns = s->actual_ns - latency_ns;
	s->function = (__u64)BPF_CORE_READ(timer, function);
	s->timer = (__u64)timer;
	s->cpu = s->ran_cpu;
	fill_task(s);
	stack_at_spike(ctx, s->sequence);
	branches_keep(s->ran_cpu, s->sequence);
	return tell(s);
}

static __always_inline int expire(__u64 *ctx, bool has_threads)
{
	struct hrtimer *timer = (struct hrtimer *)ctx[0];
	__u32 key = bpf_get_smp_processor_id();
	struct trigger_cpu *cpu = bpf_map_lookup_elem(&cpus, &key);
	__u64 now, expires, latency_ns;

	if (!cpu || !cpu->watched)
		return 0;
	if (function && (__u64)timer->function != function)
		return 0;

	now = ctx[1];
	if (NOW_IS_POINTER && bpf_probe_read_kernel(&now, sizeof(now), (void *)now))
		return 0;
	expires = timer->node.expires;
	latency_ns = lateness(now, expires);

	count(cpu, latency_ns);

	if (has_threads)
		begin(cpu, timer, expires - clock_offset(timer), latency_ns);
	if (latency_ns >= threshold_ns && latency_ns >= measured_ns[TRIGGER_IRQ]) {
		/* First of all: there are few, and each branch from here on replaces one. */
		branches_take(key);
		spike(ctx, cpu, timer, now, latency_ns);
	}
	return 0;
}

SEC("tp_btf/hrtimer_expire_entry")
int trigger_hrtimer(__u64 *ctx)
{
	return expire(ctx, false);
}

/* The same where what becomes of the threads that timers wake is watched too: for it libbpf looks
 * for types that not every kernel has. */
SEC("?tp_btf/hrtimer_expire_entry")
int trigger_hrtimer_threads(__u64 *ctx)
{
	return expire(ctx, true);
}

/* What follows is run by user space, by BPF_PROG_TEST_RUN. */

/* Starts the trace of this CPU again. */
SEC("raw_tp")
int trigger_resume(void *ctx)
{
	(void)ctx;
	bpf_trace_printk((const char *)resume_message, sizeof(resume_message));
	return 0;
}

/* Run by the thread of the workload cyclic on its CPU: its timers are the workload's. */
SEC("raw_tp")
int trigger_claim(void *ctx)
{
	__u32 key = bpf_get_smp_processor_id();
	struct trigger_cpu *cpu = bpf_map_lookup_elem(&cpus, &key);

	(void)ctx;
	if (cpu)
		cpu->thread = (__u32)bpf_get_current_pid_tgid();
	return 0;
}

/* Run by the controller itself: who it is, whatever pid namespace it is in. */
SEC("raw_tp")
int trigger_self(void *ctx)
{
	const struct task_struct *task = (void *)bpf_get_current_task_btf();
	__u32 key = 0;
	struct trigger_session *self = bpf_map_lookup_elem(&session, &key);

	(void)ctx;
	if (!self)
		return 0;
	self->pid = task->tgid;
	self->start_ns = task->group_leader->start_boottime;
	return 0;
}

/* As if a spike had happened, but the controller pokes the targets: nothing is late. Returns the
 * lower 31 bits of its sequence number, or 0: the session is not armed, or could not be told.
 */
SEC("raw_tp")
int trigger_poke(void *ctx)
{
	struct trigger_spike s = { .what = TRIGGER_POKE };

	(void)ctx;
	if (__sync_val_compare_and_swap(&armed, 1, 0) != 1)
		return 0;
	s.time_ns = bpf_ktime_get_ns();
	s.sequence = __sync_fetch_and_add(&sequence, 1) + 1;
	fill_task(&s);
	if (!bpf_ringbuf_output(&spikes, &s, sizeof(s), BPF_RB_FORCE_WAKEUP))
		return s.sequence & 0x7fffffff;
	__sync_lock_test_and_set(&armed, 1);
	return 0;
}

/* Asks the controller to end the session. Returns 0 or 2. */
SEC("raw_tp")
int trigger_stop(void *ctx)
{
	struct trigger_spike s = { .what = TRIGGER_STOP };

	(void)ctx;
	fill_task(&s);
	return bpf_ringbuf_output(&spikes, &s, sizeof(s), BPF_RB_FORCE_WAKEUP) ? 2 : 0;
}
