// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "delivery/delivery.h"

#include "trigger/trigger.h"

static int try_task_work(struct probe_detail *detail)
{
	if (!kfunc_exists(TRIGGER_TASK_WORK) && !kfunc_exists(TRIGGER_TASK_WORK "_impl"))
		return -EOPNOTSUPP;
	return trigger_try(PERF_POKE_DELIVERY_TASK_WORK);
}

static int try_tracepoint(struct probe_detail *detail)
{
	return trigger_try(PERF_POKE_DELIVERY_TRACEPOINT);
}

static int try_relay(struct probe_detail *detail)
{
	return 0;
}

static const struct delivery rows[] = {
	{
		.choice = { "task-work", PERF_POKE_DELIVERY_TASK_WORK,
			    "a callback in the context of the target (Linux 6.18)" },
		.automatic = true,
		.probe = { "task_work", "needs Linux 6.18; another delivery is used instead", false,
			   try_task_work },
	},
	{
		.choice = { "fasync", PERF_POKE_DELIVERY_FASYNC,
			    "the target owns a perf event that overflows" },
		.automatic = true,
		.open = fasync_open,
		.close = fasync_close,
		.probe = { "fasync",
			   "needs tracefs and CONFIG_BPF_EVENTS; another delivery is used instead",
			   false, fasync_try },
	},
	/* The program is attached to perf_poll(), which only tasks with perf events run. The target
	 * waits on a perf event on bpf_trace_printk, which wakes it. It finds its flag in a map and
	 * signals itself. */
	{
		.choice = { "tracepoint", PERF_POKE_DELIVERY_TRACEPOINT,
			    "the target signals itself when it polls its events" },
		.probe = { "tracepoint",
			   "needs function trampolines (CONFIG_DYNAMIC_FTRACE); another delivery "
			   "is used instead",
			   false, try_tracepoint },
	},
	/* poke.c sends it to targets that no other way has reached. */
	{
		.choice = { "relay", PERF_POKE_DELIVERY_RELAY,
			    "perf-poke sends it after waking up" },
		.automatic = true,
		.probe = { .try = try_relay },
	},
};

const struct delivery *delivery_row(size_t i)
{
	return i < ARRAY_SIZE(rows) ? &rows[i] : NULL;
}

const struct delivery *delivery_of(enum perf_poke_delivery way)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].choice.value == (int)way)
			return &rows[i];
	}
	return NULL;
}
