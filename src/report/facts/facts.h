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
	bool pt;	    /* Intel PT, otherwise events */
	bool none;	    /* neither: no trace */
	bool perf;	    /* neither: the poked perf has the trace */
	bool no_times;	    /* Intel PT, but TSC is not perf's clock */
	bool ends_at_spike; /* Intel PT: the kernel stopped the trace at the spike */
	bool poked, idle;
	bool thread;   /* a thread was late, not the interrupt */
	bool reported; /* a late thread that was reported: the stack is the reporter's */
	bool noise;    /* a late thread as osnoise sees it: the label is the largest noise */
	int cpu;       /* negative: none */
	/* On the recorder's clock; to_clock_ns converts from that of capture.json. */
	uint64_t expected_ns, actual_ns, time_ns;
	uint64_t to_clock_ns;
	uint64_t irq_ns;	/* for a late thread, latency of its interrupt; 0: unknown */
	uint64_t noise_most_ns; /* of the largest noise */
	uint64_t latency_ns, threshold_ns, history_ns, skid_ns;
	uint64_t events, lost;
	int pid, tid;
	char comm[32];
	char label[64];	    /* of the reporter; may be empty */
	char function[128]; /* callback of the timer, or its address */
	char wall_time[40];
	char release[80], hostname[80], model[80];
	struct hardware_facts hardware;
	const struct senders *senders; /* NULL: not recorded */
	struct spike_stack
		stack; /* of the interrupted task, or of the one before the late thread */
	struct spike_stack
		holder; /* of the task that had the CPU when a late thread should have run */
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

/* Prefix of the latency: `IRQ`, `Thread`, or the reporter's label. */
const char *facts_late(const struct facts *facts);

/* Begins the sentence: what was late, or what made a noise, of which Intel PT tells more. */
void facts_put_late(FILE *file, const struct facts *facts);

/* Such as `stress/812` or `idle`. Returns buf. */
const char *facts_task(const struct facts *facts, char *buf, unsigned int size);

#endif
