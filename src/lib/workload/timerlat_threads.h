/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The kernel threads of the tracer timerlat. */
#ifndef LIB_WORKLOAD_TIMERLAT_THREADS_H
#define LIB_WORKLOAD_TIMERLAT_THREADS_H

#include <stddef.h>

#include "options/config.h"

/* Waits for the threads of these CPUs, and sets scheduler and cgroup if given. */
int timerlat_threads_set(const int *cpus, size_t nr, const struct config *config);

/* Opens cgroup.procs of a cgroup: `name` is relative to the mount point; `.` is our own. Logs
 * errors. */
int cgroup_open(const char *name, const struct log *log);

#endif
