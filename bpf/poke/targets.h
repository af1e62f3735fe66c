/* SPDX-License-Identifier: GPL-2.0-only */
/* Targets of a session, and whether they may still be signalled. */
#ifndef POKE_TARGETS_H
#define POKE_TARGETS_H

#include "cpus.h"
#include "poke.h"

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
static __always_inline enum poke_gone poke_look(const struct poke_target *target)
{
	const struct task_struct *task = (const void *)target->task;
	const struct sighand_struct *sighand = BPF_CORE_READ(task, sighand);

	if (!sighand || (__u32)BPF_CORE_READ(task, pid) != target->tid ||
	    BPF_CORE_READ(task, start_boottime) != target->start_ns)
		return POKE_GONE_ENDED;
	/* A signal pending when execve() returns meets the new program. */
	if ((__u32)BPF_CORE_READ(task, self_exec_id) != target->exec_id ||
	    (bpf_core_field_exists(task->in_execve) &&
	     BPF_CORE_READ_BITFIELD_PROBED(task, in_execve)))
		return POKE_GONE_EXEC;
	return poke_handler(sighand, target->signal) > 1 ? POKE_HERE : POKE_GONE_HANDLER;
}

/* Call right before each signal: whether the identified program would still catch it. */
static __always_inline bool poke_may(struct poke_target *target)
{
	if (!target->gone)
		target->gone = poke_look(target);
	return !target->gone;
}

/* Called by the target: signals itself. */
static __always_inline void poke_pay(struct poke_target *target, __u32 way)
{
	if (poke_take_owed(target, way) && poke_may(target))
		bpf_send_signal_thread(target->signal);
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

#endif
