/* SPDX-License-Identifier: GPL-2.0-only */
/* Signals the targets of a session from the trigger's program: one way after the other, until one
 * does not refuse. */
#ifndef POKE_SEND_H
#define POKE_SEND_H

#include "cpus.h"
#include "direct.h"
#include "targets.h"
#include "task_work.h"

/* Bits of enum poke_way, constant from loading on: what is not used is not even verified. */
const volatile __u32 poke_ways = 0;
/* The format of what is printed for the ways that a perf event takes part in: FASYNC's, whose owner
 * the target is, and TRACEPOINT's, which the target waits on. FASYNC's ends with the targets that
 * it is for: those that an earlier way has reached have an event for it too. */
const volatile char poke_message[TRIGGER_MESSAGE_SIZE] = "";

/* Set by user space when it has seen that: the kernel drops what perf events sample in idle. */
__u32 drops_idle = 0;

extern struct task_struct *bpf_task_from_pid(__s32 pid) __weak __ksym;
extern void bpf_task_release(struct task_struct *task) __weak __ksym;

#define POKE_HAS(way) (poke_ways & (1U << (way)))

static __always_inline bool poke_took(struct poke_target *target, __u32 way, int err)
{
	if (err) {
		__sync_fetch_and_add(&target->refused[way], 1);
		return false;
	}
	target->way = way;
	__sync_fetch_and_add(&target->sent[way], 1);
	return true;
}

/* The ways that need the task itself, and functions that not every kernel has. Without those libbpf
 * looks for them in all modules, for which it needs CAP_SYS_ADMIN; so there is an object without.
 */
#ifdef POKE_BARE
#define POKE_HAS_TASK 0
#else
#define POKE_HAS_TASK (POKE_HAS(POKE_WAY_DIRECT) || POKE_HAS(POKE_WAY_TASK_WORK))
#endif

/* The callback may run before this returns. */
static __always_inline bool poke_queue(struct poke_target *target, __u32 index,
				       struct task_struct *task)
{
	__u32 owed = POKE_OWED(POKE_WAY_TASK_WORK);
	int err;

	/* That of the spike before has not run, and there is but one. */
	if (__sync_fetch_and_or(&target->owed, owed) & owed)
		return poke_took(target, POKE_WAY_TASK_WORK, -1);
	err = poke_task_work(task, index);
	if (err)
		poke_take_owed(target, POKE_WAY_TASK_WORK);
	return poke_took(target, POKE_WAY_TASK_WORK, err);
}

static __always_inline bool poke_task(struct poke_target *target, __u32 index)
{
	struct task_struct *task = bpf_task_from_pid(target->tid);
	bool done = false;

	if (!task)
		return false;
	if (task->start_boottime == target->start_ns) {
		if (POKE_HAS(POKE_WAY_DIRECT))
			done = poke_took(target, POKE_WAY_DIRECT,
					 poke_direct(task, target->signal));
		if (!done && POKE_HAS(POKE_WAY_TASK_WORK))
			done = poke_queue(target, index, task);
	}
	bpf_task_release(task);
	return done;
}

/* Returns 1 if it takes the message to reach the target. */
static __always_inline __u32 poke_print(struct poke_target *target)
{
	/* What wakes the target is its own event, on the watched CPUs. */
	if (POKE_HAS(POKE_WAY_TRACEPOINT) &&
	    poke_took(target, POKE_WAY_TRACEPOINT, !is_watched(bpf_get_smp_processor_id()))) {
		__sync_fetch_and_or(&target->owed, POKE_OWED(POKE_WAY_TRACEPOINT));
		return 1;
	}
	if (POKE_HAS(POKE_WAY_FASYNC) &&
	    poke_took(target, POKE_WAY_FASYNC, target->idle && drops_idle)) {
		__sync_fetch_and_or(&target->owed, POKE_OWED(POKE_WAY_FASYNC));
		return 1;
	}
	__sync_fetch_and_or(&target->owed, POKE_OWED(POKE_WAY_NONE));
	return 0;
}

/* The same. Not static: so the verifier looks at it on its own, and not at all that may have become
 * of the targets together. */
__noinline __u32 poke_one(__u32 index, __u64 number)
{
	struct poke_target *target = bpf_map_lookup_elem(&targets, &index);

	if (!target || !target->tid || !poke_may(target))
		return 0;
	/* First: see poke_open_way(). */
	target->sequence = number;
	barrier();
	target->idle = !bpf_get_current_pid_tgid();
	target->way = POKE_WAY_NONE;
	target->poked_ns = bpf_ktime_get_ns();
	target->pending_ns = 0;
	poke_merge_owed(target);
	if (POKE_HAS_TASK && poke_task(target, index))
		return 0;
	return poke_print(target);
}

static __always_inline void poke_targets(__u64 number)
{
	__u32 called = 0;

	if (!poke_ways)
		return;
	POKE_LOOP
	for (__u32 i = 0; i < POKE_TARGETS; i++)
		called |= (poke_one(i, number) & 1) << i;
	if (called && poke_message[0])
		bpf_trace_printk((const char *)poke_message, sizeof(poke_message), called);
}

/* Run by user space, before it signals one itself. */
SEC("?raw_tp")
int poke_look_all(void *ctx)
{
	(void)ctx;
	POKE_LOOP
	for (__u32 i = 0; i < POKE_TARGETS; i++) {
		__u32 index = i;
		struct poke_target *target = bpf_map_lookup_elem(&targets, &index);

		if (!target || !target->tid)
			break;
		poke_may(target);
	}
	return 0;
}

/* The target passes here whenever it waits for its perf events, and right after it was woken. */
SEC("?fentry/perf_poll")
int poke_pass(void *ctx)
{
	struct poke_target *target = poke_target_of((void *)bpf_get_current_task_btf());

	(void)ctx;
	if (target)
		poke_pay(target, POKE_WAY_TRACEPOINT);
	return 0;
}

/* enum of include/trace/events/signal.h: TRACE_SIGNAL_DELIVERED, _ALREADY_PENDING */
#define SIGNAL_DELIVERED 0
#define SIGNAL_ALREADY_PENDING 2

/* From asm-generic/siginfo.h: the least and the most of what a descriptor is signalled with, and
 * what stands for them where the signal has codes of its own */
#define CODE_POLL_IN 1
#define CODE_POLL_HUP 6
#define CODE_SIGIO -5

/* And not a signal that was sent by another way. */
static __always_inline bool poke_is_fasync(const struct kernel_siginfo *info)
{
	/* A number where the kernel sends it; reading that gives 0. */
	int code = BPF_CORE_READ(info, si_code);

	return (code >= CODE_POLL_IN && code <= CODE_POLL_HUP) || code == CODE_SIGIO;
}

/* Sees every signal of the system become pending: proof that a poke arrived, and when. */
SEC("?tp_btf/signal_generate")
int poke_pending(__u64 *ctx)
{
	struct poke_target *target = poke_target_of((const struct task_struct *)ctx[2]);
	int signal = ctx[0], result = ctx[4];

	if (!target || target->signal != signal)
		return 0;
	/* One that is late, so that there has been another for its spike. */
	if (poke_is_fasync((const void *)ctx[1]) && !poke_take_owed(target, POKE_WAY_FASYNC))
		return 0;
	if (!target->pending_ns)
		target->pending_ns = bpf_ktime_get_ns();
	if (result == SIGNAL_DELIVERED)
		__sync_fetch_and_add(&target->pending, 1);
	else if (result == SIGNAL_ALREADY_PENDING)
		__sync_fetch_and_add(&target->merged, 1);
	return 0;
}

#endif
