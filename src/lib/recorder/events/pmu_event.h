/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Events to sample, by perf record's names. */
#ifndef LIB_RECORDER_PMU_EVENT_H
#define LIB_RECORDER_PMU_EVENT_H

#include <stdbool.h>

#include <linux/perf_event.h>

#include "base/log.h"

/* Whether it is an event to sample, not a tracepoint: `cycles:pp`, `r1a8`,
 * `cpu-clock/period=100000/k`, `cpu/event=0x3c,umask=1/u`. */
bool pmu_event_is(const char *name);

/* Sets event, rate and modifiers in attr. root_fd: of "/". Logs errors. */
int pmu_event_parse(struct perf_event_attr *attr, int root_fd, const char *name,
		    const struct log *log);

/* The same for PMU_EVENT_DEFAULT, whose NMIs also sample code with interrupts off. False without a
 * PMU, or in a virtual machine, where each NMI costs several exits. */
#define PMU_EVENT_DEFAULT "cycles"
bool pmu_event_default(struct perf_event_attr *attr, int root_fd);

#endif
