/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Events that keep a CPU's hardware recording branches: Intel LBR, AMD LbrExtV2. */
#ifndef LIB_BASE_BRANCHES_H
#define LIB_BASE_BRANCHES_H

#include <stddef.h>

#include <linux/perf_event.h>

/* perf_event_attr.branch_sample_type */
#define BRANCHES_TYPE (PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_ANY)

/* Opens an event on each CPU. Returns 0, or a negative errno with none open. */
int branches_open(int *fds, const int *cpus, size_t nr);
void branches_close(int *fds, size_t nr);

#endif
