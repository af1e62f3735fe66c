/* SPDX-License-Identifier: GPL-2.0-only */
/* Signals the targets from the trigger's program. Tries one way after another until one does not
 * refuse. */
#ifndef POKE_SEND_H
#define POKE_SEND_H

#include "cpus.h"
#include "targets.h"
#include "task_work.h"

/* Bits of enum perf_poke_delivery. Constant after load, so that the verifier skips unused ways. */
const volatile __u32 poke_ways = 0;
/* Message that triggers perf events: for FASYNC an event that the target owns, for TRACEPOINT one
 * that it waits on. For FASYNC it ends with the mask of its targets, because targets reached by an
 * earlier way own events too. */
const volatile char poke_message[TRIGGER_MESSAGE_SIZE] = "";

/* Set by user space when it finds that the kernel drops samples of perf events in idle. */
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

/* The way that needs the task, and functions that some kernels lack. For a missing function libbpf
 * searches all modules, which needs CAP_SYS_ADMIN; hence the object without these functions. */
#ifdef POKE_BARE
#define POKE_HAS_TASK 0
#else
#define POKE_HAS_TASK POKE_HAS(PERF_POKE_DELIVERY_TASK_WORK)
#endif

/* The callback may run before this returns. */
static __always_inline bool poke_queue(struct poke_target *target, __u32 index,
				       struct task_struct *task)
{
	__u32 owed = POKE_OWED(PERF_POKE_DELIVERY_TASK_WORK);
	int err;

	/* The callback of the previous spike has not run; there is only one. */
	if (__sync_fetch_and_or(&target->owed, owed) & owed)
		return poke_took(target, PERF_POKE_DELIVERY_TASK_WORK, -1);
	err = poke_task_work(task, index);
	if (err)
		poke_take_owed(target, PERF_POKE_DELIVERY_TASK_WORK);
	return poke_took(target, PERF_POKE_DELIVERY_TASK_WORK, err);
}

static __always_inline bool poke_task(struct poke_target *target, __u32 index)
{
	struct task_struct *task = bpf_task_from_pid(target->tid);
	bool done = false;

	if (!task)
		return false;
	if (task->start_boottime == target->start_ns)
		done = poke_queue(target, index, task);
	bpf_task_release(task);
	return done;
}

/* Returns 1 if the target needs the message. */
static __always_inline __u32 poke_print(struct poke_target *target)
{
	/* The target's own event wakes it, but only on watched CPUs. */
	if (POKE_HAS(PERF_POKE_DELIVERY_TRACEPOINT) &&
	    poke_took(target, PERF_POKE_DELIVERY_TRACEPOINT,
		      !is_watched(bpf_get_smp_processor_id()))) {
		__sync_fetch_and_or(&target->owed, POKE_OWED(PERF_POKE_DELIVERY_TRACEPOINT));
		return 1;
	}
	if (POKE_HAS(PERF_POKE_DELIVERY_FASYNC) &&
	    poke_took(target, PERF_POKE_DELIVERY_FASYNC, target->idle && drops_idle)) {
		__sync_fetch_and_or(&target->owed, POKE_OWED(PERF_POKE_DELIVERY_FASYNC));
		return 1;
	}
	__sync_fetch_and_or(&target->owed, POKE_OWED(POKE_WAY_NONE));
	return 0;
}

/* The same for one target. Not static, so that the verifier checks it once, not for all
 * combinations of targets. */
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

/* User space runs it before it signals a target itself. */
SEC("?raw_tp")
int poke_look_all(void *ctx)
{
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

/* The target runs this when it waits for perf events, and right after it is woken. */
SEC("?fentry/perf_poll")
int poke_pass(void *ctx)
{
	struct poke_target *target = poke_target_of((void *)bpf_get_current_task_btf());

	if (target)
		poke_pay(target, PERF_POKE_DELIVERY_TRACEPOINT);
	return 0;
}

/* TRACE_SIGNAL_DELIVERED and _ALREADY_PENDING of include/trace/events/signal.h */
#define SIGNAL_DELIVERED 0
#define SIGNAL_ALREADY_PENDING 2

/* From asm-generic/siginfo.h: lowest and highest code of a descriptor's signal, and the code for
 * signals with codes of their own. */
#define CODE_POLL_IN 1
#define CODE_POLL_HUP 6
#define CODE_SIGIO -5

/* False for signals sent by other ways. */
static __always_inline bool poke_is_fasync(const struct kernel_siginfo *info)
{
	/* The context may be a small number instead of a pointer; reading it yields 0. */
	int code = BPF_CORE_READ(info, si_code);

	return (code >= CODE_POLL_IN && code <= CODE_POLL_HUP) || code == CODE_SIGIO;
}

/* Runs when any signal of the system becomes pending: proves that a poke arrived, and when. */
SEC("?tp_btf/signal_generate")
int poke_pending(__u64 *ctx)
{
	struct poke_target *target = poke_target_of((const struct task_struct *)ctx[2]);
	int signal = ctx[0], result = ctx[4];

	if (!target || target->signal != signal)
		return 0;
	/* It came late: another signal was sent for its spike. */
	if (poke_is_fasync((const void *)ctx[1]) &&
	    !poke_take_owed(target, PERF_POKE_DELIVERY_FASYNC))
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
