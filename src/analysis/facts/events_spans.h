/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes spans from tracepoints: interrupts, softirqs, timers and tasks. */
#ifndef REPORT_EVENTS_SPANS_H
#define REPORT_EVENTS_SPANS_H

#include "events/tracepoints.h"
#include "facts/schedule.h"
#include "facts/senders.h"
#include "facts/spans.h"
#include "perf_poke.h"

/* Reads the events of one CPU (negative: of all) up to `end`, and from `begin` on, senders of
 * interrupts to that CPU; all events into the schedule. Earlier events only determine which spans
 * are open at `begin`. Returns 0,
 * -ENODATA without events, -E2BIG with too many spans, or -ENOMEM. */
int events_spans_read(struct tracepoints *tracepoints, int cpu, uint64_t begin, uint64_t end,
		      struct spans *spans, struct senders *senders,
		      struct schedule *schedule) _must_check_;

/* Names the tasks whose switches were lost, if the schedule or the spike has their names. Returns 0
 * or -ENOMEM. */
int events_spans_name(struct spans *spans, const struct schedule *schedule,
		      const struct perf_poke_spike *spike) _must_check_;

/* The same for one event at a time, for several CPUs in parallel. The caller sets the first three
 * members. */
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
