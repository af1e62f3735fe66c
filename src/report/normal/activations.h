/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The activations of the late timer in a trace, from its expiry to its function or its thread; or
 * those of a span of the trigger, from its entry to its exit.
 *
 * normal/ compares a late activation with the normal ones before it. It may include account/.
 */
#ifndef REPORT_ACTIVATIONS_H
#define REPORT_ACTIVATIONS_H

#include "facts/facts.h"
#include "spans/spans.h"

/* An expiry of the late timer, from events. */
struct expiry {
	uint64_t at;	   /* call of its function */
	uint64_t expected; /* 0: unknown */
};

struct ends;
struct marks;

/* What was late: a timer, or a span of the trigger. */
struct timer {
	const struct ends *ends;   /* of a span; NULL: a timer */
	const struct marks *marks; /* of a span, from events; NULL: from functions */
	uint64_t period_ns; /* of the workload that armed the timer; 0: unknown, or another timer */
	struct expiry *expiries; /* in order; NULL: any timer with the function */
	size_t nr;
	bool any; /* `expiries` has all timers */
};

struct activation {
	uint64_t begin;	  /* expected expiry, else the interrupt; or entry of the span */
	uint64_t irq;	  /* entry of the interrupt; 0 for a span, like the next */
	uint64_t handler; /* call of the timer's function */
	uint64_t end;	  /* that call; turn of a late thread; or exit of the span */
	bool expected;	  /* `begin` is an expiry */
};

struct activations {
	struct activation late;
	struct activation *normal; /* the newest ones, oldest first */
	size_t nr;
	uint32_t thread; /* name of the late thread; 0: the interrupt or a span was late */
};

/* Finds the last `max` activations before the spike that were below the threshold and recorded as a
 * whole. Returns 0 or -ENOMEM. */
int activations_find(struct activations *activations, const struct spans *spans,
		     const struct facts *facts, const struct timer *timer, size_t max) _must_check_;
void activations_release(struct activations *activations);

#endif
