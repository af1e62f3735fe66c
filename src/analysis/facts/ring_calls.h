/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls, interrupts and tasks from the events of a trace.dat, on the tracks that Intel PT has them
 * on.
 *
 * Of function_graph, entries and exits are calls with their times. Of `function`, which records
 * entries only, a function goes on until an entry shows that it has returned: at most that long.
 *
 * Each event tells whether interrupts were off. What was before it, since the event before, is not
 * known if the two differ.
 */
#ifndef ANALYSIS_RING_CALLS_H
#define ANALYSIS_RING_CALLS_H

#include "calls/timeline.h"
#include "events/tracepoints.h"
#include "facts/facts.h"

struct ring_calls;

struct ring_calls_opts {
	struct tracepoints *tracepoints;
	const struct facts *facts;
	struct timeline *timeline;
	struct names *names;
};

int ring_calls_new(struct ring_calls **ret, const struct ring_calls_opts *opts) _must_check_;
void ring_calls_free(struct ring_calls *calls);
static inline void ring_calls_freep(struct ring_calls **calls)
{
	ring_calls_free(*calls);
}

/* Events of the CPUs that are wanted, in order of time. */
int ring_calls_add(struct ring_calls *calls, const struct tracepoint_event *event) _must_check_;

/* Ends the trace. Finish the timeline at *at afterwards. *gaps: how often events were lost. */
int ring_calls_finish(struct ring_calls *calls, uint64_t *at, uint64_t *gaps) _must_check_;

#endif
