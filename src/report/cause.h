/* SPDX-License-Identifier: GPL-2.0-only */
/* Why a timer was late, in one sentence. */
#ifndef REPORT_CAUSE_H
#define REPORT_CAUSE_H

#include "findings.h"

enum cause_kind {
	CAUSE_NONE, /* nothing that is known explains it */
	CAUSE_POKED,
	CAUSE_IRQS_OFF,
	CAUSE_INTERRUPT,
	CAUSE_SOFTIRQ,
	CAUSE_NMI,
	CAUSE_EXCEPTION,
	CAUSE_IDLE,
	CAUSE_THREAD,	/* it ran, and more is not recorded */
	CAUSE_UNTRACED, /* code of which there is no trace */
	CAUSE_LOST,	/* trace is missing */
	CAUSE_MIXED,	/* nothing that took even half of it */
	CAUSE_NR,
};

struct cause {
	enum cause_kind kind;
	uint64_t time_ns;	     /* that it took, while the timer was late */
	uint64_t count;		     /* of how many, where more than one did */
	uint32_t name;		     /* of it */
	uint32_t span;		     /* of code, or SPAN_NONE */
	uint32_t mostly;	     /* name of a function in it that took most of that; 0: none */
	uint32_t mostly_span;	     /* of a thread: its longest run, or SPAN_NONE */
	const struct sender *sender; /* of the interrupt; NULL: not known */
	size_t frame;		     /* of the stack that is blamed, or STACK_NONE */
	uint64_t insns, cycles;	     /* of the span; 0: not known */
};

int cause_find(struct cause *cause, const struct findings *findings,
	       const struct facts *facts) _must_check_;

/* As `irqs_off`. */
const char *cause_kind_name(enum cause_kind kind);

/* One line without an end, for the caller to free. NULL if there is no memory. */
char *cause_sentence(const struct cause *cause, const struct findings *findings,
		     const struct facts *facts);

#endif
