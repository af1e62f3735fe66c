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
	bool by_code; /* interrupts are those of arrows_add_interrupt(), not of events */
};

/* Senders of interrupts to a CPU are known from its first event on, or from here. Returns 0 or
 * -ENOMEM. */
int arrows_watch_cpu(struct arrows *arrows, int cpu) _must_check_;

/* Adds what an event tells. Returns 0 or -ENOMEM. */
int arrows_add_event(struct arrows *arrows, struct names *names, struct tracepoints *tracepoints,
		     const struct tracepoint_event *event) _must_check_;

/* Adds an interrupt that a trace of code has, after the events before it. Its time may be up to
 * `step_ns` too early. Returns 0 or -ENOMEM. */
int arrows_add_interrupt(struct arrows *arrows, int cpu, uint64_t at, const char *function,
			 uint64_t step_ns) _must_check_;

/* Sorts the ends by CPU, lane and time. `is_known` tells whether an end has a span around it;
 * arrows without are dropped. Returns 0 or -ENOMEM. */
int arrows_finish(struct arrows *arrows,
		  bool (*is_known)(const void *context, const struct arrow_end *end),
		  const void *context) _must_check_;

void arrows_release(struct arrows *arrows);

#endif
