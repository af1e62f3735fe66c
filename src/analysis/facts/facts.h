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
#include "perf_poke.h"

/* From capture.json: what limits the time that threads get. */
struct scheduling_facts {
	int64_t rt_runtime_us; /* kernel.sched_rt_runtime_us; -1: no limit */
	uint64_t rt_period_us; /* 0: unknown */
	int fair_server;       /* 1: it is there; 0: not; -1: unknown */
	/* The late thread's nearest cgroup with a CPU quota; quota_us 0: none */
	char cgroup[128];
	uint64_t quota_us, quota_period_us, nr_throttled, throttled_us;
};

struct late_thread;

struct facts {
	/* Without pointers. Texts are printable. Times are those of the trace, where expected_ns <=
	 * actual_ns <= time_ns; latency_ns and irq_ns fit in. */
	struct perf_poke_spike spike;
	struct perf_poke_capture capture; /* without pointers; history_ns is 0 if unknown */
	enum perf_poke_recorder recorder;
	bool sampled;	      /* Intel PT in an AUX sample, not in a ring */
	bool no_times;	      /* Intel PT whose TSC was not perf's clock */
	bool ends_at_spike;   /* Intel PT that the kernel stopped at the spike */
	bool by_cpu;	      /* a span of a CPU, such as a softirq */
	bool by_argument;     /* a span of neither thread nor CPU, such as a request to a disk */
	uint64_t to_clock_ns; /* from the clock of capture.json to that of the trace */
	char trigger[16];     /* its name; empty: none fired */
	char function[128];   /* callback of the timer, or its address */
	char wall_time[40];
	char release[80], hostname[80], model[80];
	struct hardware_facts hardware;
	struct scheduling_facts scheduling;
	const struct senders *senders;	  /* NULL: not recorded */
	const struct late_thread *thread; /* NULL: no thread was late, or it is not recorded */
	struct spike_stack
		stack; /* of the interrupted task, or of the one before the late thread */
	struct spike_stack
		holder; /* of the task that had the CPU when a late thread should have run */
};

static inline bool facts_is_pt(const struct facts *facts)
{
	return facts->recorder == PERF_POKE_RECORDER_PT;
}

/* Whether a thread was late, not the interrupt. */
static inline bool facts_is_thread(const struct facts *facts)
{
	return facts->spike.kind != PERF_POKE_TRIGGER_IRQ;
}

/* Whether what was late is neither a timer nor a wakeup: the stack is the reporter's. */
static inline bool facts_is_reported(const struct facts *facts)
{
	return facts_is_thread(facts) && facts->spike.kind != PERF_POKE_TRIGGER_THREAD &&
	       facts->spike.kind != PERF_POKE_TRIGGER_USER &&
	       facts->spike.kind != PERF_POKE_TRIGGER_WAKEUP;
}

/* The poked perf has its own trace. */
static inline bool recorder_has_trace(enum perf_poke_recorder recorder)
{
	return recorder != PERF_POKE_RECORDER_PERF && recorder != PERF_POKE_RECORDER_NONE;
}

static inline bool facts_have_trace(const struct facts *facts)
{
	return recorder_has_trace(facts->recorder);
}

/* Whether there is a trace that shows times. */
static inline bool facts_have_times(const struct facts *facts)
{
	return facts_have_trace(facts) && !facts->no_times;
}

/* A program writes its mark after it measured the latency of a timer that was due then: the latency
 * ended when it measured. due_ns: of the last timer that its thread armed; 0: none. */
void facts_end_mark(struct facts *facts, uint64_t due_ns);

/* Prefix of the latency: `IRQ`, `Thread`, or the reporter's label. */
const char *facts_late(const struct facts *facts);

/* Begins the sentence: what was late, or what made a noise, of which Intel PT tells more. */
void facts_put_late(FILE *file, const struct facts *facts);

/* Such as `stress/812` or `idle`. Returns buf. */
const char *facts_task(const struct facts *facts, char *buf, unsigned int size);

#endif
