/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The kernel's tracer timerlat as workload: its thread on each CPU sleeps until a timer expires. It
 * runs in an instance of tracefs of its own where the kernel allows it. One that runs already is
 * used as it is, and never changed. */
#ifndef LIB_WORKLOAD_TIMERLAT_H
#define LIB_WORKLOAD_TIMERLAT_H

#include "base/log.h"
#include "workload/journal.h"

struct scheduling;
struct timerlat;

enum timerlat_state {
	TIMERLAT_MISSING, /* the kernel has no such tracer, or not for us */
	TIMERLAT_IDLE,
	TIMERLAT_TAKEN, /* by the tracer osnoise, which excludes it */
	TIMERLAT_RUNS,
};

struct timerlat_config {
	const int *cpus;
	size_t nr_cpus;
	uint64_t period_ns;
	const struct scheduling *sched; /* of its threads; NULL: the kernel's choice */
	const char *cgroup;		/* NULL: the kernel's choice */
	bool user;			/* threads in user space wait for its timers */
};

/* What the kernel takes. */
#define TIMERLAT_PERIOD_MIN_NS 100000

enum timerlat_state timerlat_state(int tracefs);

/* Whether this or the tracer osnoise runs, instances of perf-poke's aside: what they share must not
 * be changed. */
bool timerlat_others_run(int tracefs);

/* Whether the tracer that runs has these CPUs, by its settings. */
bool timerlat_covers(int tracefs, const int *cpus, size_t nr);

/* What is set goes through the journal, whose closing ends the tracer. tracefs stays the caller's.
 */
int timerlat_start(struct timerlat **ret, int tracefs, struct journal *journal,
		   const struct timerlat_config *config, const struct log *log);

/* Whether it runs for this session, not for somebody else. */
bool timerlat_is_ours(const struct timerlat *timerlat);

/* The kernel makes a new thread when a CPU is back: its scheduler is set again. */
int timerlat_cpu_online(struct timerlat *timerlat, int cpu);

/* Readable when somebody has changed settings of the tracer: timerlat_poll() says which. */
int timerlat_fd(const struct timerlat *timerlat);
void timerlat_poll(struct timerlat *timerlat);

/* Lets go of the tracer, without ending it; NULL does nothing. */
void timerlat_free(struct timerlat *timerlat);

#endif
