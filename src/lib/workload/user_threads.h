/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Threads in user space that wait for timerlat's timers. Each is a process of its own, because the
 * kernel kills the whole process when the tracer is reconfigured. */
#ifndef LIB_WORKLOAD_USER_THREADS_H
#define LIB_WORKLOAD_USER_THREADS_H

#include "options/config.h"

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
