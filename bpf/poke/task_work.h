/* SPDX-License-Identifier: GPL-2.0-only */
/* task-work, Linux 6.18: queues a callback and wakes the target as a signal would. The target runs
 * the callback in its own context and signals itself. Works from any interrupted context, including
 * idle. */
#ifndef POKE_TASK_WORK_H
#define POKE_TASK_WORK_H

#include "targets.h"

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

static int poke_task_work_run(struct bpf_map *map, void *key, void *value)
{
	__u32 index = *(__u32 *)key;
	struct poke_target *target = bpf_map_lookup_elem(&targets, &index);

	if (target)
		poke_pay(target, PERF_POKE_DELIVERY_TASK_WORK);
	return 0;
}

static __always_inline int poke_task_work(struct task_struct *task, __u32 index)
{
	struct poke_work *value = bpf_map_lookup_elem(&works, &index);

	if (!value)
		return -1;
	return task_work_schedule(task, &value->work, &works, poke_task_work_run);
}

#endif
