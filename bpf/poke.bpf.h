/* SPDX-License-Identifier: GPL-2.0-only */
/* Signals the targets from the trigger's program. Tries one way after another until one does not
 * refuse. */
#ifndef POKE_BPF_H
#define POKE_BPF_H

#include "cpus.bpf.h"

/* Loading a program that calls bpf_trace_printk(), even where it is never reached, switches its
 * tracepoint on, which patches code and so interrupts every CPU. Hence the object without messages,
 * for sessions that need none. */
#ifdef NO_MESSAGES
#define print_message(message, ...) 0
#else
#define print_message(message, ...)                                                                \
	bpf_trace_printk((const char *)(message), sizeof(message), ##__VA_ARGS__)
#endif

/* Targets of a session, and whether they may still be signalled. */
#define POKE_LOOP _Pragma("clang loop unroll(disable)")

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, POKE_TARGETS);
	__type(key, __u32);
	__type(value, struct poke_target);
} targets SEC(".maps");

/* The address of the handler, SIG_DFL (0) or SIG_IGN (1). */
static __always_inline __u64 poke_handler(const struct sighand_struct *sighand, __u32 signal)
{
	const struct k_sigaction *action = (const void *)sighand +
					   bpf_core_field_offset(sighand->action) +
					   (signal - 1) * bpf_core_type_size(struct k_sigaction);

	return (__u64)BPF_CORE_READ(action, sa.sa_handler);
}

/* The task_struct may be freed memory: compare before use. */
static __always_inline enum poke_lost poke_check_identity(const struct poke_target *target)
{
	const struct task_struct *task = (const void *)target->task;
	const struct sighand_struct *sighand = BPF_CORE_READ(task, sighand);

	if (!sighand || (__u32)BPF_CORE_READ(task, pid) != target->tid ||
	    BPF_CORE_READ(task, start_boottime) != target->start_ns)
		return POKE_LOST_ENDED;
	/* A signal pending when execve() returns meets the new program. */
	if ((__u32)BPF_CORE_READ(task, self_exec_id) != target->exec_id ||
	    (bpf_core_field_exists(task->in_execve) &&
	     BPF_CORE_READ_BITFIELD_PROBED(task, in_execve)))
		return POKE_LOST_EXEC;
	return poke_handler(sighand, target->signal) > 1 ? POKE_NOT_LOST : POKE_LOST_HANDLER;
}

static __always_inline bool poke_is_here(struct poke_target *target)
{
	if (!target->lost)
		target->lost = poke_check_identity(target);
	return !target->lost;
}

/* A blocked signal stays pending, and execve() keeps it: the next program, which has no handler,
 * would be ended once it unblocks the signal. */
static __always_inline bool poke_is_blocked(struct poke_target *target)
{
	const struct task_struct *task = (const void *)target->task;

	target->blocked = BPF_CORE_READ(task, blocked.sig[0]) >> (target->signal - 1) & 1;
	return target->blocked;
}

/* Call right before each signal: whether the identified program would catch it now. */
static __always_inline bool poke_may_signal(struct poke_target *target)
{
	return poke_is_here(target) && !poke_is_blocked(target);
}

/* Called by the target: signals itself. */
static __always_inline void poke_signal_self(struct poke_target *target, __u32 way)
{
	if (!poke_take_outstanding(target, way))
		return;
	if (poke_may_signal(target)) {
		bpf_send_signal_thread(target->signal);
	} else if (!target->lost) {
		__sync_fetch_and_add(&target->refused[way], 1);
		__sync_fetch_and_or(&target->outstanding, POKE_OUTSTANDING(POKE_WAY_NONE));
	}
}

/* No task is a target twice. */
static __always_inline struct poke_target *poke_target_of(const struct task_struct *task)
{
	POKE_LOOP
	for (__u32 i = 0; i < POKE_TARGETS; i++) {
		__u32 index = i;
		struct poke_target *target = bpf_map_lookup_elem(&targets, &index);

		if (!target || !target->tid)
			break;
		if ((__u32)task->pid == target->tid && task->start_boottime == target->start_ns)
			return target;
	}
	return NULL;
}

/* task-work, Linux 6.18: queues a callback and wakes the target as a signal would. The target runs
 * the callback in its own context and signals itself. Works from any interrupted context, including
 * idle. */
struct poke_work {
	struct bpf_task_work work;
};

/* A separate map: user space cannot map one with such a member. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, POKE_TARGETS);
	__type(key, __u32);
	__type(value, struct poke_work);
} works SEC(".maps");

typedef int (*poke_callback)(struct bpf_map *map, void *key, void *value);

/* A function with two signatures: Linux 6.18 expects the program as an argument, later kernels find
 * it. Two objects, because libbpf rejects declarations that differ from the kernel's, and later
 * kernels reuse the first name. */
#ifdef TASK_WORK_IMPL
extern int bpf_task_work_schedule_signal_impl(struct task_struct *task, struct bpf_task_work *work,
					      void *map, poke_callback callback,
					      void *prog) __weak __ksym;
#define task_work_schedule(task, work, map, callback)                                              \
	bpf_task_work_schedule_signal_impl(task, work, map, callback, NULL)
#else
extern int bpf_task_work_schedule_signal(struct task_struct *task, struct bpf_task_work *work,
					 void *map, poke_callback callback) __weak __ksym;
#define task_work_schedule bpf_task_work_schedule_signal
#endif

static int poke_run_task_work(struct bpf_map *map, void *key, void *value)
{
	__u32 index = *(__u32 *)key;
	struct poke_target *target = bpf_map_lookup_elem(&targets, &index);

	if (target)
		poke_signal_self(target, PERF_POKE_DELIVERY_TASK_WORK);
	return 0;
}

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

static __always_inline bool poke_note_result(struct poke_target *target, __u32 way, int err)
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

static __always_inline bool poke_queue_task_work(struct poke_target *target, __u32 index)
{
	__u32 outstanding = POKE_OUTSTANDING(PERF_POKE_DELIVERY_TASK_WORK);
	struct task_struct *task = bpf_task_from_pid(target->tid);
	struct poke_work *value;
	bool done = false;
	int err = -1;

	if (!task)
		return false;
	if (task->start_boottime == target->start_ns) {
		/* Else the callback of the previous spike has not run; there is only one. */
		if (!(__sync_fetch_and_or(&target->outstanding, outstanding) & outstanding)) {
			value = bpf_map_lookup_elem(&works, &index);
			/* The callback may run before this returns. */
			if (value)
				err = task_work_schedule(task, &value->work, &works,
							 poke_run_task_work);
			if (err)
				poke_take_outstanding(target, PERF_POKE_DELIVERY_TASK_WORK);
		}
		done = poke_note_result(target, PERF_POKE_DELIVERY_TASK_WORK, err);
	}
	bpf_task_release(task);
	return done;
}

/* Returns 1 if the target needs the message. */
static __always_inline __u32 poke_choose_message(struct poke_target *target)
{
	/* The target's own event wakes it, but only on watched CPUs. */
	if (POKE_HAS(PERF_POKE_DELIVERY_TRACEPOINT) &&
	    poke_note_result(target, PERF_POKE_DELIVERY_TRACEPOINT,
			     !cpu_is_watched(bpf_get_smp_processor_id()))) {
		__sync_fetch_and_or(&target->outstanding,
				    POKE_OUTSTANDING(PERF_POKE_DELIVERY_TRACEPOINT));
		return 1;
	}
	if (POKE_HAS(PERF_POKE_DELIVERY_FASYNC) &&
	    poke_note_result(target, PERF_POKE_DELIVERY_FASYNC, target->idle && drops_idle)) {
		__sync_fetch_and_or(&target->outstanding,
				    POKE_OUTSTANDING(PERF_POKE_DELIVERY_FASYNC));
		return 1;
	}
	__sync_fetch_and_or(&target->outstanding, POKE_OUTSTANDING(POKE_WAY_NONE));
	return 0;
}

/* The same for one target. Not static, so that the verifier checks it once, not for all
 * combinations of targets. */
__noinline __u32 poke_signal_target(__u32 index, __u64 number)
{
	struct poke_target *target = bpf_map_lookup_elem(&targets, &index);

	if (!target || !target->tid || !poke_is_here(target))
		return 0;
	/* First: see poke_open_way(). */
	target->sequence = number;
	barrier();
	target->idle = !bpf_get_current_pid_tgid();
	target->way = POKE_WAY_NONE;
	target->poked_ns = bpf_ktime_get_ns();
	target->pending_ns = 0;
	poke_merge_outstanding(target);
	if (poke_is_blocked(target)) {
		__sync_fetch_and_or(&target->outstanding, POKE_OUTSTANDING(POKE_WAY_NONE));
		return 0;
	}
	if (POKE_HAS_TASK && poke_queue_task_work(target, index))
		return 0;
	return poke_choose_message(target);
}

static __always_inline void poke_targets(__u64 number)
{
	__u32 called = 0;

	if (!poke_ways)
		return;
	POKE_LOOP
	for (__u32 i = 0; i < POKE_TARGETS; i++)
		called |= (poke_signal_target(i, number) & 1) << i;
	if (called && poke_message[0])
		print_message(poke_message, called);
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
		poke_may_signal(target);
	}
	return 0;
}

/* The target runs this when it waits for perf events, and right after it is woken. */
SEC("?fentry/perf_poll")
int poke_pass(void *ctx)
{
	struct poke_target *target = poke_target_of((void *)bpf_get_current_task_btf());

	if (target)
		poke_signal_self(target, PERF_POKE_DELIVERY_TRACEPOINT);
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
	    !poke_take_outstanding(target, PERF_POKE_DELIVERY_FASYNC))
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
