/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the poking programs and user space share: whom a spike signals, and what became of it. */
#ifndef POKE_H
#define POKE_H

#include <linux/types.h>
#ifndef __bpf__
#include <assert.h>
#endif

#define POKE_TARGETS 16
/* What follows the message that is printed for FASYNC: a bit for each target that it is for, in as
 * many digits as there are bits for. */
#define POKE_CALLED_FORMAT "%04x"
#define POKE_CALLED_DIGITS 4

/* The ways that a signal can take to a target. */
enum poke_way {
	POKE_WAY_NONE,
	POKE_WAY_TASK_WORK,  /* the target signals itself, in a callback that is queued for it */
	POKE_WAY_FASYNC,     /* the owner of a perf event is signalled when it overflows */
	POKE_WAY_TRACEPOINT, /* the target signals itself when it next polls its perf events */
	POKE_WAY_DIRECT,     /* from the interrupted task: not from idle */
	POKE_WAY_RELAY,	     /* by the controller, once it has woken up */
	POKE_WAYS,
};
#define POKE_OWED(way) (1U << (way))

/* Why a target is not signalled any more. */
enum poke_gone {
	POKE_HERE,
	POKE_GONE_ENDED,
	POKE_GONE_EXEC,	   /* it runs another program, which never asked for signals */
	POKE_GONE_HANDLER, /* the signal would end it, or be lost */
};

/* A thread to be signalled. The number of a thread may be another's soon after it ended; together
 * with the time it started at, it never is. Both survive exec, which the count of its execs tells.
 * Targets are at the beginning of their map, with no gap: the first without a tid ends them. */
struct poke_target {
	__u32 tgid, tid; /* in the first pid namespace */
	__u64 start_ns;	 /* CLOCK_BOOTTIME */
	__u64 task;    /* address of its task_struct, which may be other memory once it has ended */
	__u32 exec_id; /* the low half of self_exec_id */
	__u32 gone;    /* enum poke_gone, for good; set by whoever notices first */
	__s32 signal;
	/* Of the newest spike: */
	__u32 idle; /* 1: the CPU was idle */
	__u64 sequence;
	__u64 poked_ns;	  /* when it was poked; this and the next CLOCK_MONOTONIC */
	__u64 pending_ns; /* when the signal was pending; 0: it is not yet */
	__u32 way;	  /* enum poke_way; NONE: all that were tried refused */
	/* POKE_OWED of the ways on which a signal is outstanding, of any spike; POKE_OWED(NONE):
	 * the controller has to send it. Clearing a bit takes ownership of that signal: whoever
	 * does it sends the signal, has seen it arrive, or has sent a later one. */
	__u32 owed;
	/* Since the session began: */
	__u64 pending; /* signals that became pending, whoever sent them */
	__u64 merged;  /* those that were one with another, which was pending or to be sent still */
	__u64 sent[POKE_WAYS];
	__u64 refused[POKE_WAYS];
};

/* Whether it was owed, until now. */
static inline __attribute__((always_inline)) __u32
poke_take_owed(volatile struct poke_target *target, __u32 way)
{
	return __sync_fetch_and_and(&target->owed, ~POKE_OWED(way)) & POKE_OWED(way);
}

/* At a spike: what is owed of those before is one with it, but for a callback that is queued. */
static inline __attribute__((always_inline)) void
poke_merge_owed(volatile struct poke_target *target)
{
	const __u32 queued = POKE_OWED(POKE_WAY_TASK_WORK);

	if (__sync_fetch_and_and(&target->owed, queued) & ~queued)
		__sync_fetch_and_add(&target->merged, 1);
}

#ifndef __bpf__
static_assert(POKE_TARGETS == 4 * POKE_CALLED_DIGITS, "a bit for each");
static_assert(sizeof(struct poke_target) == 88 + 16 * POKE_WAYS, "no hidden padding");
#endif

#endif
