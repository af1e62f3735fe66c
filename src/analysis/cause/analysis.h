/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of a latency, in the terms of rtla's auto-analysis. */
#ifndef REPORT_ANALYSIS_H
#define REPORT_ANALYSIS_H

#include "cause/findings.h"

/* In rtla's order. For an interrupt, all parts but the delay and the latencies add up to the
 * latency. For a thread, the delay and the parts after it do. */
enum analysis_kind {
	ANALYSIS_PREVIOUS_IRQ, /* before the timer's IRQ, in the delay */
	ANALYSIS_IRQ_DELAY,
	ANALYSIS_TIMER_IRQ,
	ANALYSIS_BLOCKING_THREAD, /* interrupted by the timer's IRQ */
	ANALYSIS_NMI,
	ANALYSIS_IRQ, /* after the timer's IRQ */
	ANALYSIS_SOFTIRQ,
	ANALYSIS_THREAD, /* another thread, or an exception */
	ANALYSIS_UNKNOWN,
	ANALYSIS_IRQ_LATENCY,
	ANALYSIS_THREAD_LATENCY,
	ANALYSIS_NR,
};

struct analysis_row {
	enum analysis_kind kind;
	uint32_t name;	  /* of what ran; 0: none */
	const char *note; /* instead of a name; may be empty */
	uint64_t time_ns;
};

struct analysis {
	struct analysis_row *rows;
	size_t nr;
};

/* Returns 0 or -ENOMEM. */
int analysis_make(struct analysis *analysis, const struct findings *findings,
		  const struct facts *facts) _must_check_;
void analysis_release(struct analysis *analysis);

/* Such as `Blocking thread`. */
const char *analysis_term(enum analysis_kind kind);

#endif
