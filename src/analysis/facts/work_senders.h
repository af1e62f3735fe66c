/* SPDX-License-Identifier: GPL-2.0-only */
/* Senders of work to a CPU: interrupts and function calls from other CPUs, and queued work. */
#ifndef ANALYSIS_SENDERS_H
#define ANALYSIS_SENDERS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "events/tracepoints.h"

#define SENDERS_MAX 32
#define SENDER_CALLERS_MAX 3

enum sender_kind {
	SENDER_OF_INTERRUPT, /* one of these three: its tracepoint has no callback */
	SENDER_OF_RESCHEDULE,
	SENDER_OF_CALL,
	SENDER_OF_IRQ_WORK, /* by this CPU to itself */
	SENDER_OF_WORK,	    /* for a kernel thread */
};

struct sender {
	uint64_t time;
	int cpu, pid, tid; /* pid -1: unknown */
	int perf_tid;	   /* as in a tracepoint_event */
	enum sender_kind kind;
	char task[32];			      /* empty: unknown */
	char function[96];		      /* to run there; empty: unknown */
	char callers[SENDER_CALLERS_MAX][96]; /* innermost first */
	unsigned int nr_callers;
};

/* The newest ones, unordered. Zero-initialised means none. */
struct senders {
	struct sender rows[SENDERS_MAX];
	uint64_t nr; /* total number seen */
};

/* Adds the event, of any CPU, if it targets `cpu`. */
void senders_add_event(struct senders *senders, struct tracepoints *tracepoints,
		       const struct tracepoint_event *event, int cpu);

/* Looks up the names of the senders' tasks. */
void senders_add_names(struct senders *senders, const struct tracepoints *tracepoints);

struct senders_want {
	uint64_t at;	      /* when it ran */
	uint64_t step_ns;     /* it may have been so much later */
	const char *function; /* NULL: no known one, by the kind of interrupt */
	enum sender_kind kind;
};

/* Which senders ask for an interrupt, by its vector or entry point. False: no CPU sends it. */
bool sender_kind_of_interrupt(const char *function, enum sender_kind *kind);

/* The newest sender before. NULL: none, or it may have been one of several. */
const struct sender *senders_find(const struct senders *senders, const struct senders_want *want);

/* Such as `sent by CPU 0, task 1234 gpu-poller, from foo() < bar()`. */
void sender_put_text(FILE *file, const struct sender *sender);

#endif
