/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The workload timerlat: the kernel's tracer, whose thread on each CPU sleeps until a timer
 * expires; and the workload osnoise, whose threads look at the clock all the time. The tracer runs
 * in a tracefs instance of its own if the kernel allows it. One that runs already is used
 * unchanged. */
#ifndef LIB_WORKLOAD_TIMERLAT_H
#define LIB_WORKLOAD_TIMERLAT_H

#include "options/config.h"
#include "workload/journal.h"

struct timerlat;

enum timerlat_state {
	TIMERLAT_MISSING, /* not in the kernel, or not accessible */
	TIMERLAT_IDLE,
	TIMERLAT_TAKEN, /* the other of the two runs and excludes it */
	TIMERLAT_RUNS,
};

/* The kernel's minimum. */
#define TIMERLAT_PERIOD_MIN_NS 100000

enum timerlat_state timerlat_state(int tracefs);

/* Whether the kernel has the tracer osnoise. */
bool osnoise_available(int tracefs);

/* Whether timerlat or osnoise runs for others than perf-poke: their settings must not change then.
 */
bool timerlat_others_run(int tracefs);

/* Whether the tracer is set to run on all these CPUs. */
bool timerlat_covers(int tracefs, const int *cpus, size_t nr);

/* All changes go through the journal; closing the journal stops the tracer. tracefs and config must
 * outlive this. */
int timerlat_start(struct timerlat **ret, int tracefs, struct journal *journal,
		   const struct config *config);

/* Whether this session has started the tracer. */
bool timerlat_is_ours(const struct timerlat *timerlat);

/* The kernel makes a new thread when a CPU comes back: sets its scheduler. */
int timerlat_cpu_online(struct timerlat *timerlat, int cpu);

/* Readable when somebody has changed settings of the tracer, which timerlat_poll() reports. */
int timerlat_fd(const struct timerlat *timerlat);
void timerlat_poll(struct timerlat *timerlat);

/* Does not stop the tracer. NULL is ignored. */
void timerlat_free(struct timerlat *timerlat);

#endif
