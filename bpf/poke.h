/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by BPF and user space: the targets of a spike's signals, and the results. */
#ifndef POKE_H
#define POKE_H

#include <linux/types.h>

#include "perf_poke.h"
#ifndef __bpf__
#include <assert.h>
#endif

#define POKE_TARGETS 16
/* Appended to the message for FASYNC: hexadecimal digits with a bit for each target that it is
 * for. */
#define POKE_CALLED_FORMAT "%04x"
#define POKE_CALLED_DIGITS 4

/* A way is a value of enum perf_poke_delivery: there is room for these. */
#define POKE_WAYS 8
#define POKE_WAY_NONE PERF_POKE_DELIVERY_AUTO /* no way has taken the signal */
#define POKE_OWED(way) (1U << (way))

/* Why a target is not signalled any more. */
enum poke_gone {
	POKE_HERE,
	POKE_GONE_ENDED,
	POKE_GONE_EXEC,	   /* it runs another program, which may not catch the signal */
	POKE_GONE_HANDLER, /* the signal would kill it or be lost */
};

/* A thread to signal. TIDs are reused, so the start time is part of the identity. exec changes
 * neither, but it changes exec_id. Targets are the first entries of their map; one without a tid
 * ends them. */
struct poke_target {
	__u32 tgid, tid; /* in the first pid namespace */
	__u64 start_ns;	 /* CLOCK_BOOTTIME */
	__u64 task;	 /* address of its task_struct; may be reused after its end */
	__u32 exec_id;	 /* the low half of self_exec_id */
	__u32 gone;	 /* enum poke_gone; set once, by the first to notice */
	__s32 signal;
	__u32 blocked; /* 1: it blocked the signal when this was last looked at */
	/* Of the newest spike: */
	__u32 idle; /* 1: the CPU was idle */
	__u32 unused;
	__u64 sequence;
	__u64 poked_ns;	  /* when it was poked; both CLOCK_MONOTONIC */
	__u64 pending_ns; /* when the signal became pending; 0: not yet */
	__u32 way;	  /* or POKE_WAY_NONE: all ways refused */
	/* POKE_OWED of the ways with an outstanding signal, of any spike; POKE_OWED(NONE): the
	 * controller must send it. Clearing a bit takes ownership of that signal: its owner sends
	 * it, has seen it arrive, or has sent a later one. */
	__u32 owed;
	/* Since the session began: */
	__u64 pending; /* signals that became pending, from any sender */
	__u64 merged;  /* signals merged with a pending or outstanding one */
	__u64 sent[POKE_WAYS];
	__u64 refused[POKE_WAYS];
};

/* Takes ownership. Returns whether the signal was outstanding. */
static inline __attribute__((always_inline)) __u32
poke_take_owed(volatile struct poke_target *target, __u32 way)
{
	return __sync_fetch_and_and(&target->owed, ~POKE_OWED(way)) & POKE_OWED(way);
}

/* At a spike: earlier outstanding signals, except a queued callback, merge with the new one. */
static inline __attribute__((always_inline)) void
poke_merge_owed(volatile struct poke_target *target)
{
	const __u32 queued = POKE_OWED(PERF_POKE_DELIVERY_TASK_WORK);

	if (__sync_fetch_and_and(&target->owed, queued) & ~queued)
		__sync_fetch_and_add(&target->merged, 1);
}

#ifndef __bpf__
static_assert(POKE_TARGETS == 4 * POKE_CALLED_DIGITS, "a bit for each");
static_assert(sizeof(struct poke_target) == 96 + 16 * POKE_WAYS, "no hidden padding");
#endif

#endif
