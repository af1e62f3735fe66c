/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The activations of the late timer in a trace, from its expiry to its function or its thread; or
 * those of a span of the trigger, from its entry to its exit.
 *
 * compare/ shows what is different in a late activation. It may include account/.
 */
#ifndef REPORT_ACTIVATIONS_H
#define REPORT_ACTIVATIONS_H

#include "account/account.h"
#include "events/tracepoints.h"

#define END_FUNCTIONS 4

/* Begin or end of a span. */
struct span_end {
	char functions[END_FUNCTIONS][128]; /* for Intel PT: any of these */
	size_t nr;
	char event[128]; /* for events; "": none */
	bool at_return;	 /* at the return of the function */
};

/* An entry or exit in a trace. */
struct mark {
	uint64_t at;
	uint64_t thread;
	bool is_exit;
};

struct marks {
	struct mark *array; /* in order */
	size_t nr;
};

/* What was late: a timer, which is known by its function, or a span. */
struct watched {
	uint64_t period_ns; /* of the workload that armed the timer; 0: unknown, or another timer */
	bool span;
	bool by_thread; /* entry and exit in one thread; otherwise the next exit on the CPU */
	struct span_end entry, exit;
	struct marks marks; /* from events; otherwise functions show them */
};

struct activation {
	uint64_t begin;	  /* expected expiry, else the interrupt; or entry of the span */
	uint64_t irq;	  /* entry of the interrupt; 0: unknown, like the next */
	uint64_t handler; /* call of the timer's function */
	uint64_t end;	  /* that call; turn of a late thread; or exit of the span */
	bool expected;	  /* `begin` is an expiry */
};

struct activations {
	struct activation late;
	struct activation *array; /* what it is compared with, oldest first */
	size_t nr;
	uint32_t thread; /* name of the late thread; 0: the interrupt or a span was late */
};

/* Finds the late activation. Returns 0 or -ENOMEM. */
int activations_find_late(struct activations *activations,
			  const struct account *account) _must_check_;

/* Finds the last `max` activations before the late one that were below the threshold and recorded
 * as a whole. Returns 0 or -ENOMEM. */
int activations_find_normal(struct activations *activations, const struct account *account,
			    const struct watched *watched, size_t max) _must_check_;

/* Entries and exits of the span, from events of the CPU, or from functions. Returns 0 or
 * -ENOMEM. */
int marks_read(struct marks *marks, const struct watched *watched, struct tracepoints *tracepoints,
	       int cpu) _must_check_;
int marks_find(struct marks *marks, const struct watched *watched,
	       const struct spans *spans) _must_check_;

#endif
