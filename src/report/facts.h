/* SPDX-License-Identifier: GPL-2.0-only */
/* What capture.json says of a spike. */
#ifndef REPORT_FACTS_H
#define REPORT_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "hardware.h"
#include "senders.h"
#include "spike_stack.h"

struct facts {
	bool pt;	    /* else events */
	bool none;	    /* neither: nothing was recorded */
	bool perf;	    /* the same here: the poked perf has the trace */
	bool no_times;	    /* of Intel PT, where TSC was not perf's clock */
	bool ends_at_spike; /* of Intel PT: the kernel stopped it there */
	bool poked, idle;
	bool thread; /* it was late, not the interrupt */
	int cpu;     /* negative: of none in particular */
	/* On the clock of what was recorded; to_clock_ns leads there from capture.json's. */
	uint64_t expected_ns, actual_ns, time_ns;
	uint64_t to_clock_ns;
	uint64_t latency_ns, threshold_ns, history_ns, skid_ns;
	uint64_t events, lost;
	int pid, tid;
	char comm[32];
	char function[128]; /* that the timer runs, or its address */
	char wall_time[40];
	char release[80], hostname[80], model[80];
	struct hardware_facts hardware;
	const struct senders *senders; /* NULL: none are recorded */
	struct spike_stack
		stack; /* what was interrupted; of a thread that was late, what ran before it */
};

static inline bool facts_have_trace(const struct facts *facts)
{
	return !facts->perf && !facts->none;
}

/* Whether there is a trace that tells what took how long. */
static inline bool facts_have_times(const struct facts *facts)
{
	return facts_have_trace(facts) && !facts->no_times;
}

/* As `stress/812`, or `idle`. Returns buf. */
const char *facts_task(const struct facts *facts, char *buf, unsigned int size);

#endif
