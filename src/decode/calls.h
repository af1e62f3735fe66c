/* SPDX-License-Identifier: GPL-2.0-only */
/* From executed instructions and branches to call stacks, and to what happened on each CPU. */
#ifndef DECODE_CALLS_H
#define DECODE_CALLS_H

#include "cpu.h"
#include "stack.h"

struct decode_item;

enum calls_flags {
	CALLS_CALL = 1 << 0,
	CALLS_RETURN = 1 << 1,
	CALLS_ASYNC = 1 << 2,
	CALLS_INTERRUPT = 1 << 3, /* and exceptions; with CALLS_RETURN iret */
	CALLS_SYSCALL = 1 << 4,	  /* with CALLS_RETURN sysret */
	CALLS_TRACE_BEGIN = 1 << 5,
	CALLS_INSN = 1 << 7, /* an instruction; it may be a branch, which follows by itself */
};

/* Longer than any code without a taken branch. */
#define CALLS_STRAIGHT_MAX 65536

struct calls_event {
	uint64_t time;
	int cpu, pid, tid;
	uint32_t flags;
	uint64_t from, to; /* 0: not traced */
	/* Of several instructions in a row, of one function, in less than CALLS_STRAIGHT_MAX bytes;
	 * 0: of one. */
	uint64_t last;
	uint8_t length;		     /* of the instruction; 0: not known */
	uint8_t untraced;	     /* enum untraced: what follows if `to` is 0 */
	const struct symbol *symbol; /* that `from` is in; NULL: resolve() tells */
	enum irq_change irqs;
	uint64_t insns, cycles;		  /* since the last event of the kind */
	const struct decode_lines *lines; /* of a run, as of struct decode_item; else NULL */
};

enum calls_axis {
	CALLS_TIME,
	CALLS_CYCLES,
	CALLS_INSNS,
};

struct calls_opts {
	enum calls_axis axis;
	bool threads_only; /* functions are not on the tracks of CPUs too */
	/* The spike; a time of 0: there is none. */
	uint64_t spike, expected;
	int spike_cpu; /* negative: any */
	/* Where an address is, NULL if that is not known. It stays. */
	const struct symbol *(*resolve)(void *arg, const struct calls_event *event, uint64_t ip);
	/* The name that the event's thread has by then, not for long; NULL: it is not known. It is
	 * asked for when another one runs on the CPU, and of events that calls_may_rename(). */
	const char *(*comm)(void *arg, const struct calls_event *event);
	void *arg;
};

/* Where the trace begins or user space goes on: before that the thread may have been renamed. */
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

/* Of a run that is of one function: what is nearly always so, in less time than calls_add() takes.
 * False: it is not so, and nothing was done. */
bool calls_run(struct calls *calls, const struct decode_item *item);

/* The same of what is behind a run: a jump, or the next instruction. With the symbol of that, NULL
 * if it is not known. */
bool calls_stay(struct calls *calls, uint64_t to, const struct symbol *symbol);

/* Where execution goes on, on a CPU; 0: not known. */
uint64_t calls_next(struct calls *calls, int cpu);

/* Gaps that were found in the trace. */
uint64_t calls_gaps(const struct calls *calls);

/* The trace ends; after that the timeline is to be finished, at the position that is returned.
 * Returns a negative errno once something failed, else 0. */
int calls_finish(struct calls *calls, uint64_t *at) _must_check_;

#endif
