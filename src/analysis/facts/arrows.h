/* SPDX-License-Identifier: GPL-2.0-only */
/* Who made what happen on another track: from the waker to its thread, and from the sender of an
 * interrupt to the interrupt. */
#ifndef ANALYSIS_ARROWS_H
#define ANALYSIS_ARROWS_H

#include "facts/spans.h"

struct arrow_end {
	uint64_t at, flow; /* both ends have the same flow */
	int cpu;
	uint8_t lane;
	bool is_begin, is_wakeup;
};

/* Zero-initialised means none. */
struct arrows {
	struct arrow_end *ends;
	size_t nr;
	struct schedule schedule;
	struct arrows_cpu {
		struct senders senders;
	} * *cpus; /* by number */
	int nr_cpus;
};

/* Adds what an event tells. Returns 0 or -ENOMEM. */
int arrows_add_event(struct arrows *arrows, struct names *names, struct tracepoints *tracepoints,
		     const struct tracepoint_event *event) _must_check_;

/* Sorts the ends by CPU, lane and time. `is_known` tells whether an end has a span around it;
 * arrows without are dropped. Returns 0 or -ENOMEM. */
int arrows_finish(struct arrows *arrows,
		  bool (*is_known)(const void *context, const struct arrow_end *end),
		  const void *context) _must_check_;

void arrows_release(struct arrows *arrows);

#endif
