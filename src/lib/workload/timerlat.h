/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The workload timerlat: the kernel's tracer, with a thread per CPU that sleeps until a timer
 * expires. Also the workload osnoise, whose threads read the clock continuously. The tracer gets
 * its own tracefs instance if the kernel allows it. A running tracer is used unchanged. */
#ifndef LIB_WORKLOAD_TIMERLAT_H
#define LIB_WORKLOAD_TIMERLAT_H

#include "options/config.h"
#include "workload/journal.h"

struct timerlat;

enum timerlat_state {
	TIMERLAT_MISSING, /* not in the kernel, or not accessible */
	TIMERLAT_IDLE,
	TIMERLAT_TAKEN, /* excluded by the other tracer, which runs */
	TIMERLAT_RUNS,
};

/* The kernel's minimum. */
#define TIMERLAT_PERIOD_MIN_NS 100000

enum timerlat_state timerlat_state(int tracefs);

/* Whether the kernel has the tracer osnoise. */
bool osnoise_available(int tracefs);

/* Whether others than perf-poke run timerlat or osnoise: their settings must not change then. */
bool timerlat_others_run(int tracefs);

/* Whether the tracer is set to run on all of these CPUs. */
bool timerlat_covers(int tracefs, const int *cpus, size_t nr);

/* Makes all changes through the journal; closing the journal stops the tracer. tracefs and config
 * must outlive this. */
int timerlat_start(struct timerlat **ret, int tracefs, struct journal *journal,
		   const struct config *config);

/* Whether this session has started the tracer. */
bool timerlat_is_ours(const struct timerlat *timerlat);

/* Sets the scheduler of the new thread that the kernel creates for a CPU back online. */
int timerlat_cpu_online(struct timerlat *timerlat, int cpu);

/* Readable when others change settings of the tracer; timerlat_poll() reports them. */
int timerlat_fd(const struct timerlat *timerlat);
void timerlat_poll(struct timerlat *timerlat);

/* Does not stop the tracer. NULL is ignored. */
void timerlat_free(struct timerlat *timerlat);

#endif
