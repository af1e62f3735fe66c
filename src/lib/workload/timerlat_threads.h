/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The kernel threads of the tracer timerlat. */
#ifndef LIB_WORKLOAD_TIMERLAT_THREADS_H
#define LIB_WORKLOAD_TIMERLAT_THREADS_H

#include <stddef.h>

#include "base/log.h"
#include "base/scheduling.h"

/* Waits until the threads of these CPUs are there, and sets scheduler and cgroup; NULL for either:
 * the kernel's choice. */
int timerlat_threads_set(const int *cpus, size_t nr, const struct scheduling *sched,
			 const char *cgroup, const struct log *log);

/* The file that takes a thread into a cgroup: `name` is relative to where cgroups are mounted, `.`
 * is our own. Says why not. */
int cgroup_open(const char *name, const struct log *log);
int cgroup_add(int fd, int tid);

#endif
