/* SPDX-License-Identifier: GPL-2.0-only */
/* One sentence that says why a timer was late. */
#ifndef ANALYSIS_CAUSE_H
#define ANALYSIS_CAUSE_H

#include "cause/findings.h"

enum cause_kind {
	CAUSE_NONE, /* nothing recorded explains it */
	CAUSE_POKED,
	CAUSE_IRQS_OFF,
	CAUSE_INTERRUPT,
	CAUSE_SOFTIRQ,
	CAUSE_NMI,
	CAUSE_EXCEPTION,
	CAUSE_IDLE,
	CAUSE_THREAD,		   /* a task ran; nothing more is recorded */
	CAUSE_UNTRACED,		   /* code that is not traced */
	CAUSE_LOST,		   /* the trace has a gap */
	CAUSE_MIXED,		   /* nothing took at least half of it */
	CAUSE_ASLEEP,		   /* the late thread slept: facts->thread has where and why */
	CAUSE_THROTTLED,	   /* it could have run, but had used up its share of the CPU */
	CAUSE_OUTSIDE,		   /* nothing that the CPU executed delayed the interrupt */
	CAUSE_IRQS_OFF_OR_OUTSIDE, /* it cannot be told apart */
	CAUSE_ARMED_PAST,	   /* when the timer was armed, it was due already */
	CAUSE_REARMED_LATE,	   /* the clock device was set late for the timer */
	CAUSE_NR,
};

struct cause {
	enum cause_kind kind;
	uint64_t time_ns; /* time it took while the timer was late */
	uint64_t count;	  /* occurrences */
	uint32_t name;
	uint32_t span;	      /* in the code lane, or SPAN_NONE */
	uint32_t mostly;      /* name of the function that took most of that time; 0: none */
	uint32_t mostly_span; /* its longest run, or SPAN_NONE */
	const struct schedule_share *rival; /* or one of several of its name; NULL: none */
	const struct sender *sender;	    /* of the interrupt; NULL: unknown */
	size_t frame;			    /* blamed frame of the stack, or STACK_NONE */
	uint64_t steal_ns;		    /* of CAUSE_OUTSIDE; 0: it is not steal time */
	/* Events show that interrupts were on then, and by what; 0: none does. */
	uint64_t irqs_on;
	uint32_t irqs_on_by;
	uint64_t insns, cycles; /* of the span; 0: unknown */
};

int cause_find(struct cause *cause, const struct findings *findings,
	       const struct facts *facts) _must_check_;

/* Whether the time is at least half of the latency, the minimum for a cause. */
static inline bool cause_explains(const struct findings *findings, uint64_t time_ns)
{
	return time_ns && time_ns >= (findings->latency_ns + 1) / 2;
}

/* Whether what the CPU did does not explain the latency: nothing shows whether the late thread ran
 * there, or no thread was late. */
bool cause_is_elsewhere(const struct facts *facts);

/* The stack of the blamed thread; NULL: not taken. */
const struct spike_stack *cause_switched_stack(const struct cause *cause,
					       const struct findings *findings,
					       const struct facts *facts);

/* Whether the blamed thread did something else after the timer's interrupt, until it was switched
 * out: either may have taken long. */
bool cause_went_on(const struct cause *cause, const struct findings *findings,
		   const struct facts *facts);

/* Corrects the cause of a late interrupt that was found by the spans of its CPU. */
void irq_latency_blame(struct cause *cause, const struct findings *findings,
		       const struct facts *facts);

/* Whether nothing but code with interrupts off could have delayed the interrupt that hit the
 * stack. */
bool irq_latency_is_certain(const struct facts *facts);

/* For the stack of CAUSE_IRQS_OFF and of CAUSE_IRQS_OFF_OR_OUTSIDE. */
void irq_latency_put_off(FILE *file, const struct cause *cause, const struct findings *findings,
			 const struct facts *facts);

/* For CAUSE_ARMED_PAST and CAUSE_REARMED_LATE. */
void irq_latency_put_arming(FILE *file, const struct cause *cause, const struct findings *findings,
			    const struct facts *facts);

/* For CAUSE_OUTSIDE. */
void irq_latency_put_outside(FILE *file, const struct cause *cause, const struct findings *findings,
			     const struct facts *facts);

/* Such as `irqs_off`. */
const char *cause_kind_name(enum cause_kind kind);

/* For a cause of a part of the latency: facts of that part, and of the whole. Returns one line
 * without newline, to be freed by the caller. NULL if out of memory. */
char *cause_sentence(const struct cause *cause, const struct findings *findings,
		     const struct facts *facts, const struct facts *whole);

#endif
