/* SPDX-License-Identifier: GPL-2.0-only */
/* From tracepoints to spans: interrupts, softirqs, timers and tasks. */
#ifndef REPORT_EVENTS_SPANS_H
#define REPORT_EVENTS_SPANS_H

#include "senders.h"
#include "spans.h"
#include "tracepoints.h"

/* Those of a CPU, or of all if that is negative, all up to `end`; and from `begin` on, who asked
 * the CPU. What is before `begin` is only taken for what it leaves open then. Returns 0, -ENODATA
 * if there is no event, -E2BIG: there are more than spans can be, or -ENOMEM. */
int events_spans_read(struct tracepoints *tracepoints, int cpu, uint64_t begin, uint64_t end,
		      struct spans *spans, struct senders *senders) _must_check_;

/* The same event by event, for several CPUs at a time: the first three are to be set. */
struct events_spans {
	struct spans *spans; /* empty */
	struct tracepoints *tracepoints;
	uint64_t begin;
	uint64_t last;
	bool any;
};
int events_spans_take(struct events_spans *to, const struct tracepoint_event *event) _must_check_;
int events_spans_end(struct events_spans *to, uint64_t end) _must_check_;

#endif
