/* SPDX-License-Identifier: GPL-2.0-only */
/* Turns executed instructions and branches into call stacks and events of each CPU. */
#ifndef DECODE_CALLS_H
#define DECODE_CALLS_H

#include "calls/cpu.h"
#include "calls/stack.h"

struct decode_item;

enum calls_flags {
	CALLS_CALL = 1 << 0,
	CALLS_RETURN = 1 << 1,
	CALLS_ASYNC = 1 << 2,
	CALLS_INTERRUPT = 1 << 3, /* also exceptions; with CALLS_RETURN: iret */
	CALLS_SYSCALL = 1 << 4,	  /* with CALLS_RETURN: sysret */
	CALLS_TRACE_BEGIN = 1 << 5,
	CALLS_INSN = 1 << 7, /* an instruction; a branch follows as a separate event */
};

/* Longer than any code without a taken branch. */
#define CALLS_STRAIGHT_MAX 65536

struct calls_event {
	uint64_t time;
	int cpu, pid, tid;
	uint32_t flags;
	uint64_t from, to; /* 0: untraced */
	/* The last of several consecutive instructions of one function, in less than
	 * CALLS_STRAIGHT_MAX bytes; 0: a single one. */
	uint64_t last;
	uint8_t length;		     /* of the instruction; 0: unknown */
	uint8_t untraced;	     /* enum untraced: what follows if `to` is 0 */
	const struct symbol *symbol; /* of `from`; NULL: call resolve() */
	enum irq_change irqs;
	uint64_t insns, cycles; /* since the last event with the same count */
};

enum calls_axis {
	CALLS_TIME,
	CALLS_CYCLES,
	CALLS_INSNS,
};

struct calls_opts {
	enum calls_axis axis;
	bool threads_only; /* no functions on the tracks of CPUs */
	/* The spike; time 0: none. */
	uint64_t spike, expected;
	int spike_cpu; /* negative: any */
	/* The symbol of an address, or NULL if unknown. It stays valid. */
	const struct symbol *(*resolve)(void *arg, const struct calls_event *event, uint64_t ip);
	/* The current name of the event's thread, valid until the next call; NULL: unknown. Called
	 * when another thread runs on the CPU, and for events with calls_may_rename(). */
	const char *(*comm)(void *arg, const struct calls_event *event);
	void *arg;
};

/* At the begin of the trace, and in user space again: the thread may have been renamed. */
static inline bool calls_may_rename(const struct calls_event *event)
{
	uint32_t flags = event->flags;

	return !(flags & CALLS_INSN) &&
	       (!event->from || (flags & CALLS_RETURN &&
				 flags & (CALLS_INTERRUPT | CALLS_SYSCALL) && !(event->to >> 63)));
}

struct calls;

int calls_new(struct calls **ret, const struct calls_opts *opts, struct timeline *timeline,
	      struct names *names) _must_check_;
void calls_free(struct calls *calls);

void calls_add(struct calls *calls, const struct calls_event *event);

/* A fast path for a run within one function. False: not applicable, and nothing was done. */
bool calls_run(struct calls *calls, const struct decode_item *item);

/* The same for the jump or instruction after a run. symbol: of `to`, NULL if unknown. */
bool calls_stay(struct calls *calls, uint64_t to, const struct symbol *symbol);

/* Where execution continues on a CPU; 0: unknown. */
uint64_t calls_next(struct calls *calls, int cpu);

/* Number of gaps in the trace. */
uint64_t calls_gaps(const struct calls *calls);

/* Ends the trace. Finish the timeline at *at afterwards. Returns 0, or a negative errno if anything
 * failed. */
int calls_finish(struct calls *calls, uint64_t *at) _must_check_;

#endif
