/* SPDX-License-Identifier: GPL-2.0-only */
/* Latencies that end in a thread: from a timer's expiry until the thread that it wakes runs, or
 * until timerlat's thread returns to user space; and from any wakeup of a thread until it runs. */
#ifndef LATENCY_BPF_H
#define LATENCY_BPF_H

#include "spike.bpf.h"
#include "stack.bpf.h"

/* Callbacks of timers whose threads can be found; 0: not in this kernel. */
const volatile __u64 timerlat_irq = 0;
const volatile __u64 hrtimer_wakeup = 0;
/* 1: only threads of the workload, registered by trigger_claim() */
const volatile __u32 thread_claimed = 0;

/* The watched task: a thread, a process, or a name. */
const volatile __u32 wakeup_pid = 0;
const volatile char wakeup_comm[16] = "";

/* An expired timer whose thread has not run, or not returned to user space. */
struct activation {
	__u64 expected_ns, irq_ns, thread_ns;
	__u64 function, timer;
	__u32 cpu, pid, tid;
	__u32 ran;	 /* 1: the thread has run, thread_ns is its latency */
	char comm[16];	 /* of the interrupted task */
	__u64 was_spike; /* 1: was a spike before the thread ran */
};

/* By thread ID; if timerlat reports samples, by CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set before load, as the next two */
	__type(key, __u32);
	__type(value, struct activation);
} activations SEC(".maps");

/* A woken thread: the time, and the CPU of its run queue. */
struct wakeup {
	__u64 time_ns;
	__u32 cpu;
	__u32 was_spike; /* 1: was a spike before it ran */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wakeup);
} wakeups SEC(".maps");

/* Whether our programs see that threads run, and that they return to user space. */
static __always_inline bool sees_threads(void)
{
	return !has_samples &&
	       (thresholds_ns[PERF_POKE_TRIGGER_THREAD] || thresholds_ns[PERF_POKE_TRIGGER_USER]);
}

static __always_inline bool sees_returns(void)
{
	return !has_samples && thresholds_ns[PERF_POKE_TRIGGER_USER];
}

static __always_inline struct task_struct *sleeper_task(struct hrtimer *timer)
{
	/* For the verifier, no longer a pointer to a timer. */
	__u64 at = (__u64)timer;

	if (!bpf_core_type_exists(struct hrtimer_sleeper))
		return NULL;
	barrier_var(at);
	at -= bpf_core_field_offset(struct hrtimer_sleeper, timer);
	return BPF_CORE_READ((struct hrtimer_sleeper *)at, task);
}

static __always_inline struct task_struct *timerlat_task(struct hrtimer *timer)
{
	__u64 at = (__u64)timer;

	if (!bpf_core_type_exists(struct timerlat_variables))
		return NULL;
	barrier_var(at);
	at -= bpf_core_field_offset(struct timerlat_variables, timer);
	return BPF_CORE_READ((struct timerlat_variables *)at, kthread);
}

/* TID of the thread that the timer wakes; 0: unknown, or not watched. */
static __always_inline __u32 timer_thread_tid(const struct trigger_cpu *cpu, struct hrtimer *timer,
					      __u64 runs)
{
	struct task_struct *task = NULL;
	__u32 tid;

	if (timerlat_irq && runs == timerlat_irq)
		task = timerlat_task(timer);
	else if (hrtimer_wakeup && runs == hrtimer_wakeup)
		task = sleeper_task(timer);
	if (!task)
		return 0;
	tid = BPF_CORE_READ(task, pid);
	return thread_claimed && tid != cpu->thread ? 0 : tid;
}

/* A timer has expired. expected_ns: CLOCK_MONOTONIC. soft: in a softirq, so the interrupt's latency
 * is unknown. Returns whether a thread waits for the CPU. */
static __always_inline bool activation_begin(const struct trigger_cpu *cpu, struct hrtimer *timer,
					     __u64 expected_ns, __u64 late_ns, bool soft)
{
	__u64 runs = (__u64)timer->function;
	struct activation activation = {
		.expected_ns = expected_ns,
		.irq_ns = soft ? 0 : late_ns,
		.function = runs,
		.timer = (__u64)timer,
		.cpu = bpf_get_smp_processor_id(),
	};
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	__u32 key = activation.cpu;

	if (timerlat_irq && runs == timerlat_irq)
		noise_begin_sample();
	if (!has_samples)
		key = timer_thread_tid(cpu, timer, runs);
	else if (runs != timerlat_irq)
		return false;
	if (!key && !has_samples)
		return false;
	/* The thread was about to sleep and still runs: its latency is that of the interrupt. */
	if (!has_samples && key == (__u32)pid_tgid) {
		if (!sees_returns())
			return false;
		activation.thread_ns = late_ns;
		activation.ran = 1;
	}
	activation.pid = pid_tgid >> 32;
	activation.tid = pid_tgid;
	bpf_get_current_comm(activation.comm, sizeof(activation.comm));
	if (bpf_map_update_elem(&activations, &key, &activation, BPF_ANY) || activation.ran)
		return false;
	if (overruns & 1U << PERF_POKE_TRIGGER_THREAD)
		overrun_remember(activation.cpu, PERF_POKE_TRIGGER_THREAD, key, expected_ns);
	return true;
}

/* Records later latencies of an activation with a spike. */
static __always_inline void activation_note_latencies(const struct activation *activation,
						      __u64 user_ns)
{
	__u32 key = activation->cpu;
	struct trigger_latencies *seen = newest_latencies(key);

	if (!seen || seen->timer != activation->timer ||
	    seen->expected_ns != activation->expected_ns)
		return;
	seen->thread_ns = activation->thread_ns;
	seen->user_ns = user_ns;
	noise_copy_to_spike(&seen->noise, key, !user_ns && !has_samples);
}

/* A latency of a watched thread. spike_take() makes the final decision about a spike. */
static __noinline int activation_judge(void *ctx, __u32 kind, const struct activation *activation,
				       __u64 latency_ns, const struct task_struct *late)
{
	struct trigger_cpu *cpu = cpu_stats_of_kind(activation->cpu, kind);
	struct trigger_spike *s;

	if (!cpu)
		return 0;
	if (kind != PERF_POKE_TRIGGER_WAKEUP)
		activation_note_latencies(activation,
					  kind == PERF_POKE_TRIGGER_USER ? latency_ns : 0);
	if (latency_ns < cpu->threshold_ns ||
	    (activation->was_spike && kind != PERF_POKE_TRIGGER_USER)) {
		/* Two CPUs may count the same row. */
		if (activation->cpu == bpf_get_smp_processor_id())
			cpu_stats_count(cpu, latency_ns);
		else
			cpu_stats_count_late(cpu, latency_ns);
		return 0;
	}
	s = spike_take(cpu, kind, latency_ns);
	if (!s)
		return 0;
	s->expected_ns = activation->expected_ns;
	s->actual_ns = activation->expected_ns + latency_ns;
	s->function = activation->function;
	s->timer = activation->timer;
	s->cpu = activation->cpu;
	s->irq_ns = activation->irq_ns;
	s->thread_ns = activation->thread_ns;
	s->user_ns = kind == PERF_POKE_TRIGGER_USER ? latency_ns : 0;
	s->pid = activation->pid;
	s->tid = activation->tid;
	__builtin_memcpy(s->comm, activation->comm, sizeof(s->comm));
	spike_fill_late_task(s, late);
	/* The stack of the task that is switched out. The thread's own stack does not matter. */
	if (has_samples && kind == PERF_POKE_TRIGGER_THREAD)
		stack_of_blocker(activation->cpu, s->sequence);
	else if (kind == PERF_POKE_TRIGGER_THREAD || kind == PERF_POKE_TRIGGER_WAKEUP)
		stack_at_spike(ctx, s->sequence);
	if (kind == PERF_POKE_TRIGGER_THREAD || kind == PERF_POKE_TRIGGER_WAKEUP)
		holder_copy_to_spike(activation->cpu, s->sequence,
				     activation->expected_ns + activation->irq_ns);
	return spike_submit(s);
}

/* The timerlat tracer's own measurement: osnoise:timerlat_sample, Linux 6.15. */
SEC("?tp_btf/timerlat_sample")
int latency_sample(__u64 *ctx)
{
	const struct timerlat_sample *sample = (const struct timerlat_sample *)ctx[0];
	__u32 key = bpf_get_smp_processor_id();
	struct activation *activation;
	int context = sample->context;

	if (context != PERF_POKE_TRIGGER_THREAD && context != PERF_POKE_TRIGGER_USER)
		return 0;
	if (!cpu_is_watched(key))
		return 0;
	activation = bpf_map_lookup_elem(&activations, &key);
	if (!activation)
		return 0;
	if (context == PERF_POKE_TRIGGER_THREAD)
		activation->thread_ns = sample->timer_latency;
	activation_judge(ctx, context, activation, sample->timer_latency,
			 (void *)bpf_get_current_task_btf());
	return 0;
}

static __always_inline void run_after_timer(void *ctx, const struct task_struct *next)
{
	__u32 tid = next->pid;
	struct activation *found = bpf_map_lookup_elem(&activations, &tid), activation;

	if (!found || found->ran)
		return;
	activation = *found;
	activation.thread_ns = latency_between(bpf_ktime_get_ns(), activation.expected_ns);
	if (sees_returns()) {
		found->thread_ns = activation.thread_ns;
		found->ran = 1;
	} else {
		bpf_map_delete_elem(&activations, &tid);
	}
	if (cpu_is_watched(activation.cpu))
		activation_judge(ctx, PERF_POKE_TRIGGER_THREAD, &activation, activation.thread_ns,
				 next);
}

/* A task that is switched out has run, so it was not waiting when its timer expired. If it has run
 * since the expiry, it may still be on its way to user space. */
static __always_inline void go_after_timer(__u32 tid)
{
	const struct activation *found;

	if (sees_returns()) {
		found = bpf_map_lookup_elem(&activations, &tid);
		if (!found || found->ran)
			return;
	}
	bpf_map_delete_elem(&activations, &tid);
}

static __always_inline void run_after_wakeup(void *ctx, const struct task_struct *next)
{
	__u32 tid = next->pid;
	const struct wakeup *woken = bpf_map_lookup_elem(&wakeups, &tid);
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	struct activation activation = {};

	if (!woken)
		return;
	activation.cpu = woken->cpu;
	activation.expected_ns = woken->time_ns;
	activation.was_spike = woken->was_spike;
	bpf_map_delete_elem(&wakeups, &tid);
	if (!cpu_is_watched(activation.cpu))
		return;
	/* The task that ran before it. */
	activation.pid = pid_tgid >> 32;
	activation.tid = pid_tgid;
	bpf_get_current_comm(activation.comm, sizeof(activation.comm));
	activation_judge(ctx, PERF_POKE_TRIGGER_WAKEUP, &activation,
			 latency_between(bpf_ktime_get_ns(), activation.expected_ns), next);
}

SEC("?tp_btf/sched_switch")
int latency_switch(__u64 *ctx)
{
	__u32 prev = ((struct task_struct *)ctx[1])->pid;
	const struct task_struct *next = (struct task_struct *)ctx[2];

	if (prev) {
		if (sees_threads())
			go_after_timer(prev);
		/* It ran when it was woken. */
		if (thresholds_ns[PERF_POKE_TRIGGER_WAKEUP])
			bpf_map_delete_elem(&wakeups, &prev);
	}
	if (next->pid && sees_threads())
		run_after_timer(ctx, next);
	if (next->pid && thresholds_ns[PERF_POKE_TRIGGER_WAKEUP])
		run_after_wakeup(ctx, next);
	/* After the spike, whose stack this is if the late thread is next. */
	holder_switched(ctx, prev);
	return 0;
}

/* With samples: records what delays the thread once it is late. */
SEC("?tp_btf/sched_switch")
int latency_blocker(__u64 *ctx)
{
	__u32 key = bpf_get_smp_processor_id();
	const struct activation *activation = bpf_map_lookup_elem(&activations, &key);
	struct trigger_stack *blocker;

	holder_switched(ctx, ((struct task_struct *)ctx[1])->pid);
	if (!activation || activation->thread_ns || !cpu_is_watched(key) ||
	    !holder_is_half_late(PERF_POKE_TRIGGER_THREAD,
				 latency_between(bpf_ktime_get_ns(), activation->expected_ns)))
		return 0;
	blocker = bpf_map_lookup_elem(&blockers, &key);
	if (blocker)
		stack_take_current(blocker, ctx);
	return 0;
}

/* Without samples: when a thread in user space starts timerlat's next timer, it has returned from
 * the last one. It does so in the read() in which later kernels take the sample. */
SEC("?tp_btf/hrtimer_start")
int latency_return(__u64 *ctx)
{
	const struct hrtimer *timer = (const struct hrtimer *)ctx[0];
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct activation *found, activation;
	const struct task_struct *task;

	if (!timerlat_irq || (__u64)timer->function != timerlat_irq)
		return 0;
	found = bpf_map_lookup_elem(&activations, &tid);
	if (!found || !found->ran)
		return 0;
	activation = *found;
	bpf_map_delete_elem(&activations, &tid);
	task = (void *)bpf_get_current_task_btf();
	if (task->mm && cpu_is_watched(activation.cpu))
		activation_judge(ctx, PERF_POKE_TRIGGER_USER, &activation,
				 latency_between(bpf_ktime_get_ns(), activation.expected_ns), task);
	return 0;
}

static __always_inline bool is_wakeup_comm(const struct task_struct *task)
{
	for (int i = 0; i < 16; i++) {
		if (task->comm[i] != wakeup_comm[i])
			return false;
		if (!wakeup_comm[i])
			break;
	}
	return true;
}

/* The CPU of the task's run queue. Before Linux 5.16, some architectures keep it elsewhere. */
static __always_inline __u32 run_queue_cpu_of(const struct task_struct *task)
{
	return bpf_core_field_exists(task->thread_info.cpu) ? task->thread_info.cpu
							    : bpf_get_smp_processor_id();
}

SEC("?tp_btf/sched_wakeup")
int latency_wakeup(__u64 *ctx)
{
	const struct task_struct *task = (const struct task_struct *)ctx[0];
	struct wakeup woken = {};
	__u32 tid = task->pid;

	if (wakeup_pid && tid != wakeup_pid && (__u32)task->tgid != wakeup_pid)
		return 0;
	if (wakeup_comm[0] && !is_wakeup_comm(task))
		return 0;
	woken.time_ns = bpf_ktime_get_ns();
	woken.cpu = run_queue_cpu_of(task);
	/* From the CPU of the waker. If that one keeps a stack at this moment, the stack may stay:
	 * it is of the task that has the CPU at the wakeup. */
	holder_note_seen(woken.cpu, woken.time_ns);
	if (!bpf_map_update_elem(&wakeups, &tid, &woken, BPF_ANY) &&
	    overruns & 1U << PERF_POKE_TRIGGER_WAKEUP)
		overrun_remember(woken.cpu, PERF_POKE_TRIGGER_WAKEUP, tid, woken.time_ns);
	return 0;
}

static __noinline int activation_claim(__u64 key, __u64 began_ns)
{
	__u32 thread = key;
	struct activation *waiting = bpf_map_lookup_elem(&activations, &thread);

	if (!waiting || waiting->expected_ns != began_ns || waiting->thread_ns ||
	    waiting->was_spike)
		return 0;
	waiting->was_spike = 1;
	return 1;
}

static __noinline int wakeup_claim(__u64 key, __u64 began_ns)
{
	__u32 tid = key;
	struct wakeup *waiting = bpf_map_lookup_elem(&wakeups, &tid);

	if (!waiting || waiting->time_ns != began_ns || waiting->was_spike)
		return 0;
	waiting->was_spike = 1;
	return 1;
}

/* A thread that has not run yet. It is counted when it runs. */
static __noinline int latency_overrun(void *ctx, __u32 kind, const struct activation *activation,
				      __u64 now, __u32 tid)
{
	struct trigger_cpu *cpu = cpu_stats_of_kind(activation->cpu, kind);
	__u64 latency_ns = latency_between(now, activation->expected_ns);
	struct trigger_spike *s;

	if (!cpu)
		return 0;
	s = spike_take_at(cpu, kind, latency_ns, now, true, false);
	if (!s)
		return 0;
	s->overrun = 1;
	s->late.tid = tid;
	s->expected_ns = activation->expected_ns;
	s->actual_ns = now;
	s->function = activation->function;
	s->timer = activation->timer;
	s->cpu = activation->cpu;
	s->irq_ns = activation->irq_ns;
	spike_fill_task(s);
	stack_at_spike(ctx, s->sequence);
	holder_copy_to_spike(activation->cpu, s->sequence,
			     activation->expected_ns + activation->irq_ns);
	return spike_submit(s);
}

SEC("?tp_btf/hrtimer_expire_entry")
int latency_expiry(__u64 *ctx)
{
	struct activation activation = {};
	const struct activation *found;
	struct overrun_slot late = {};
	__u64 now = bpf_ktime_get_ns();
	const struct task_struct *task;
	__u32 key;

	if (overruns & 1U << PERF_POKE_TRIGGER_WAKEUP &&
	    overrun_find(PERF_POKE_TRIGGER_WAKEUP, now, wakeup_claim, &late)) {
		activation.cpu = bpf_get_smp_processor_id();
		activation.expected_ns = late.began_ns;
		return latency_overrun(ctx, PERF_POKE_TRIGGER_WAKEUP, &activation, now, late.key);
	}
	if (!(overruns & 1U << PERF_POKE_TRIGGER_THREAD) ||
	    !overrun_find(PERF_POKE_TRIGGER_THREAD, now, activation_claim, &late))
		return 0;
	key = late.key;
	found = bpf_map_lookup_elem(&activations, &key);
	if (!found)
		return 0;
	activation = *found;
	if (has_samples) {
		task = timerlat_task((struct hrtimer *)activation.timer);
		key = task ? BPF_CORE_READ(task, pid) : 0;
	}
	return latency_overrun(ctx, PERF_POKE_TRIGGER_THREAD, &activation, now, key);
}

#endif
