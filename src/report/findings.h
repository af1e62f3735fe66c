/* SPDX-License-Identifier: GPL-2.0-only */
/* What took the time of a window, and of that in which a timer was late. */
#ifndef REPORT_FINDINGS_H
#define REPORT_FINDINGS_H

#include "facts.h"
#include "spans.h"

struct usage {
	enum span_kind kind;
	uint32_t name;
	uint64_t time_ns; /* in the window */
	uint64_t late_ns; /* of that while the timer was late */
	uint64_t longest_ns;
	uint64_t count;
	uint32_t longest; /* the span */
};

struct function {
	uint32_t name;
	bool user;
	uint64_t self_ns, total_ns, late_ns; /* late: of self */
	uint64_t count;
};

struct findings {
	const struct spans *spans;
	uint64_t begin, end;	       /* the window, as far as anything is known of it */
	uint64_t late_begin, late_end; /* the same of the time in which the timer was late */
	uint64_t latency_ns;	       /* all of that */
	/* Each moment is in one of these: longest first. */
	struct usage *budget;
	size_t nr_budget;
	/* Interrupts off, by the function that did it; overlaps with the above. */
	struct usage *irqs_off;
	size_t nr_irqs_off;
	struct function *functions; /* by self */
	size_t nr_functions;
	struct samples_mostly samples; /* of the time in which it was late, up to the spike */
	uint32_t path; /* innermost span when the timer was to expire, or SPAN_NONE */
};

int findings_make(struct findings *findings, const struct spans *spans, const struct facts *facts,
		  uint64_t window_ns) _must_check_;
void findings_release(struct findings *findings);

/* Of a span of interrupts off: that of the function that turned them off, or called what is there
 * for that only. SPAN_NONE: not known. */
uint32_t findings_irqs_off_by(const struct spans *spans, const struct span *off);

/* How long before the spike a report begins if it is not told. */
uint64_t findings_window(const struct facts *facts);

#endif
