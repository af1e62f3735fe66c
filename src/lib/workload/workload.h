/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

/*
 * workload/: arms timers; changes and restores settings of the machine. May include trigger/,
 * options/ and machine/.
 */
#ifndef LIB_WORKLOAD_H
#define LIB_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/base.h"
#include "options/config.h"

struct trigger;
struct workload;

struct workload_row {
	struct perf_poke_choice choice;
	struct probe probe;
	/* Rejects unsuitable options; may be NULL. */
	int (*check)(const struct config *config);
	int (*start)(struct workload *workload); /* may be NULL */
};

/* NULL past the end. */
const struct workload_row *workload_row(size_t i);
/* "auto" for AUTO. */
const char *workload_name(enum perf_poke_workload kind);

/* Checks the options that depend on the workload; logs errors. */
int workload_check(const struct config *config);

/* Resolves AUTO. Restores settings of killed sessions first. */
void workload_choose(struct config *config);

/* The trigger must outlive this. workload_stop(), or a failure, restores all settings. */
int workload_start(struct workload **ret, const struct config *config,
		   const struct trigger *trigger);

/* A CPU that was offline is back. */
int workload_cpu_online(struct workload *workload, int cpu);

/* Readable when workload_poll() has something to report; -1: never. */
int workload_fd(const struct workload *workload);
void workload_poll(struct workload *workload);

/* NULL is ignored. */
void workload_stop(struct workload *workload);

/* In a child of fork(): closes what the kernel applies while it is open. Threads and settings are
 * the parent's. NULL is ignored. */
void workload_abandon(struct workload *workload);

/* The workload cyclic: a real-time thread per CPU that sleeps one period at a time. It arms timers;
 * the trigger measures them. */
struct cyclic;
struct trigger;

/* The threads call trigger_claim_timers(), unless the trigger is NULL. */
int cyclic_start(struct cyclic **ret, const int *cpus, size_t nr_cpus, uint64_t period_ns,
		 int priority, const struct trigger *trigger, const struct log *log);
/* Moves the CPU's thread back: the kernel moved it when the CPU went offline. */
void cyclic_cpu_online(struct cyclic *cyclic, int cpu);
/* Ends the threads. NULL is ignored. */
void cyclic_stop(struct cyclic *cyclic);

/* The workload timerlat: the kernel's tracer, with a thread per CPU that sleeps until a timer
 * expires. Also the workload osnoise, whose threads read the clock continuously. The tracer gets
 * its own tracefs instance if the kernel allows it. A running tracer is used unchanged. */
struct timerlat;

enum timerlat_state {
	TIMERLAT_MISSING, /* not in the kernel, or not accessible */
	TIMERLAT_IDLE,
	TIMERLAT_TAKEN, /* excluded by the other tracer, which runs */
	TIMERLAT_RUNS,
};

/* The kernel's minimum. */
#define TIMERLAT_PERIOD_MIN_NS 100000

/* Whether the kernel has the tracer, if the workload is one. Logs. */
int tracer_check_kernel(const struct config *config);

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

/* Waits for the threads of these CPUs, and sets scheduler and cgroup if given. */
int timerlat_threads_set(const int *cpus, size_t nr, const struct config *config);

/* Threads in user space that wait for timerlat's timers. Each is a process of its own, because the
 * kernel kills the whole process when the tracer is reconfigured. */
struct user_threads;

/* The tracer must run. tracefs and config must outlive the threads. */
int user_threads_start(struct user_threads **ret, int tracefs, const struct config *config);

/* Restarts the thread of a CPU that was offline. */
int user_threads_cpu_online(struct user_threads *threads, int cpu);

/* Readable when user_threads_poll() has something to report. */
int user_threads_fd(const struct user_threads *threads);
/* Reports threads that were killed. */
void user_threads_poll(struct user_threads *threads);

/* NULL is ignored. */
void user_threads_stop(struct user_threads *threads);

#endif
