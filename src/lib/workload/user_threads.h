/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Threads in user space that wait for timerlat's timers: a process for each CPU, because the kernel
 * kills the whole process when somebody reconfigures the tracer, and it must not be ours. */
#ifndef LIB_WORKLOAD_USER_THREADS_H
#define LIB_WORKLOAD_USER_THREADS_H

#include "base/log.h"
#include "base/scheduling.h"

struct user_threads;

struct user_threads_config {
	const int *cpus;
	size_t nr_cpus;
	struct scheduling sched;
	const char *cgroup; /* NULL: our own */
};

/* Once the tracer runs. tracefs and config stay the caller's, as long as the threads are there. */
int user_threads_start(struct user_threads **ret, int tracefs,
		       const struct user_threads_config *config, const struct log *log);

/* Begins again on a CPU that was offline. */
int user_threads_cpu_online(struct user_threads *threads, int cpu);

/* Readable when user_threads_poll() has something to say. */
int user_threads_fd(const struct user_threads *threads);
/* Says which have been killed since it was last asked. */
void user_threads_poll(struct user_threads *threads);

/* NULL does nothing. */
void user_threads_stop(struct user_threads *threads);

#endif
