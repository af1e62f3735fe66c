/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Events that are sampled, by the names that perf record has for them. */
#ifndef LIB_RECORDER_PMU_EVENT_H
#define LIB_RECORDER_PMU_EVENT_H

#include <stdbool.h>

#include <linux/perf_event.h>

#include "base/log.h"

/* As `cycles:pp`, `r1a8`, `cpu-clock/period=100000/k` and `cpu/event=0x3c,umask=1/u`: not of a
 * tracepoint. */
bool pmu_event_is(const char *name);

/* Adds to attr what to sample, how often and where. root_fd: of "/". On failure logs why. */
int pmu_event_parse(struct perf_event_attr *attr, int root_fd, const char *name,
		    const struct log *log);

/* The same for PMU_EVENT_DEFAULT, which sees code with interrupts off: the interrupt of the CPU's
 * PMU is an NMI. False: this machine has none, or is a virtual one, where each NMI is several
 * exits. */
#define PMU_EVENT_DEFAULT "cycles"
bool pmu_event_default(struct perf_event_attr *attr, int root_fd);

#endif
