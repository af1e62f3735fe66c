/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The activations of the late timer in a trace: from its expiry to its function or its thread. And
 * those of a span of the trigger, from its entry to its exit.
 *
 * normal/ compares a late activation with the normal ones before it. It may include account/.
 */
#ifndef REPORT_ACTIVATIONS_H
#define REPORT_ACTIVATIONS_H

#include "facts/facts.h"
#include "spans/spans.h"

/* An expiry of the late timer, as events have it. */
struct expiry {
	uint64_t at;	   /* when its function was called */
	uint64_t expected; /* 0: unknown */
};

struct ends;
struct marks;

/* What was late: a timer, or a span of the trigger. */
struct timer {
	const struct ends *ends;   /* of the span; NULL: a timer */
	const struct marks *marks; /* of it, as events have them; NULL: functions have them */
	uint64_t period_ns;	   /* of the workload that armed it; 0: unknown, or another timer */
	struct expiry *expiries;   /* in order; NULL: any timer with the function is meant */
	size_t nr;
	bool any; /* `expiries` are of all timers */
};

struct activation {
	uint64_t begin;	  /* the expected expiry; if unknown, the interrupt; a span's entry */
	uint64_t irq;	  /* its entry; of a span 0, as the next */
	uint64_t handler; /* the timer's function is called */
	uint64_t end;	  /* of the latency: that call; of a late thread, its turn; the exit */
	bool expected;	  /* `begin` is the expiry */
};

struct activations {
	struct activation late;
	struct activation *normal; /* the newest, oldest first */
	size_t nr;
	uint32_t thread; /* name of the late thread; 0: the interrupt or a span was late */
};

/* The last `max` of those before the spike that were below the threshold and fully recorded.
 * Returns 0 or -ENOMEM. */
int activations_find(struct activations *activations, const struct spans *spans,
		     const struct facts *facts, const struct timer *timer, size_t max) _must_check_;
void activations_release(struct activations *activations);

#endif
