/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the time went in a window, and in the part of it in which a timer was late. */
#ifndef ANALYSIS_FINDINGS_H
#define ANALYSIS_FINDINGS_H

#include "facts/facts.h"
#include "facts/spans.h"

struct usage {
	enum span_kind kind;
	uint32_t name;
	uint64_t time_ns;		   /* in the window */
	uint64_t late_ns;		   /* part of it, while the timer was late */
	uint64_t before_irq_ns, in_irq_ns; /* parts of late_ns: before the timer's IRQ, in it */
	uint64_t longest_ns;
	uint64_t count;
	uint32_t longest; /* the longest span */
};

struct function {
	uint32_t name;
	bool user;
	uint64_t self_ns, total_ns, late_ns; /* late_ns: part of self_ns */
	uint64_t count;
};

struct findings {
	const struct spans *spans;
	uint64_t begin, end;	       /* the recorded part of the window */
	uint64_t late_begin, late_end; /* the recorded part of the latency */
	uint64_t latency_ns;	       /* the whole latency */
	uint64_t left_out_ns;	       /* its part that is before the window that was asked for */
	uint64_t irq_begin, irq_end;   /* the timer's IRQ, in the recorded part */
	/* Each moment counts in one row. Longest first. */
	struct usage *budget;
	size_t nr_budget;
	/* Interrupts off, by the responsible function; overlaps with the rows above. */
	struct usage *irqs_off;
	size_t nr_irqs_off;
	/* While the timer was late: how long they were on, and the longest stretch in which they
	 * may have been off, as far as the trace shows. */
	uint64_t irqs_on_ns, irqs_perhaps_off_ns;
	struct function *functions; /* by self_ns */
	size_t nr_functions;
	struct samples_mostly samples; /* while the timer was late */
	struct samples_mostly sampled; /* the same, of a clear majority */
	uint32_t path;		       /* innermost span at the expected expiry, or SPAN_NONE */
};

int findings_make(struct findings *findings, const struct spans *spans, const struct facts *facts,
		  uint64_t window_ns) _must_check_;
void findings_release(struct findings *findings);

static inline const struct lane *findings_code(const struct findings *findings)
{
	return &findings->spans->lanes[LANE_CODE];
}

static inline const char *findings_name(const struct findings *findings, uint32_t name)
{
	return names_get(findings->spans->names, name);
}

/* For an interrupts-off span, the span of the function that turned them off, directly or by a
 * helper. SPAN_NONE: unknown. */
uint32_t findings_irqs_off_by(const struct spans *spans, const struct span *off);

/* Of a late thread only what ran in the part that the report explains: itself, or its rivals. */
struct samples_want findings_late_samples(const struct findings *findings,
					  const struct facts *facts);

/* Default begin of a report, as time before the spike. */
uint64_t findings_window(const struct facts *facts);

#endif
