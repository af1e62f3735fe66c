/* SPDX-License-Identifier: GPL-2.0-only */
/* The facts about a spike, from capture.json. */
#ifndef REPORT_FACTS_H
#define REPORT_FACTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "facts/hardware.h"
#include "facts/senders.h"
#include "facts/spike_stack.h"

struct facts {
	bool pt;	    /* otherwise events */
	bool none;	    /* neither of them: nothing was recorded */
	bool perf;	    /* likewise: the poked perf has the trace */
	bool no_times;	    /* Intel PT without TSC as perf's clock */
	bool ends_at_spike; /* Intel PT: the kernel stopped the trace at the spike */
	bool poked, idle;
	bool control;  /* nothing was late */
	bool thread;   /* the thread was late, not the interrupt */
	bool reported; /* likewise, as reported: the stack is the reporter's */
	bool noise;    /* likewise, as the tracer osnoise has: the label is the largest part */
	int cpu;       /* negative: none */
	/* On the recorder's clock; to_clock_ns converts from that of capture.json. */
	uint64_t expected_ns, actual_ns, time_ns;
	uint64_t to_clock_ns;
	uint64_t irq_ns; /* of a thread that was late: the latency of the interrupt; 0: not known */
	uint64_t noise_most_ns; /* that part's */
	uint64_t latency_ns, threshold_ns, history_ns, skid_ns;
	uint64_t events, lost;
	int pid, tid;
	char comm[32];
	char label[64];	    /* the reporter's, or "" */
	char function[128]; /* the timer's callback, or its address */
	char wall_time[40];
	char release[80], hostname[80], model[80];
	struct hardware_facts hardware;
	const struct senders *senders; /* NULL: not recorded */
	struct spike_stack stack;      /* what was interrupted, or ran before the late thread */
	struct spike_stack holder;     /* of a late thread: what had the CPU when it was to run */
};

static inline bool facts_have_trace(const struct facts *facts)
{
	return !facts->perf && !facts->none;
}

/* Whether there is a trace that shows times. */
static inline bool facts_have_times(const struct facts *facts)
{
	return facts_have_trace(facts) && !facts->no_times;
}

/* Whose latency it is: `IRQ`, `Thread`, or the reporter's label. */
const char *facts_late(const struct facts *facts);

/* Begins the sentence: what was late, or who made a noise; with Intel PT, there is more to say of
 * that, too. */
void facts_put_late(FILE *file, const struct facts *facts);

/* Such as `stress/812` or `idle`. Returns buf. */
const char *facts_task(const struct facts *facts, char *buf, unsigned int size);

#endif
