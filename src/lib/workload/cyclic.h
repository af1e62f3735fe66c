/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The cyclic workload: on each CPU, a real-time thread that sleeps for a period at a time. It only
 * arms timers; the trigger measures them. */
#ifndef LIB_WORKLOAD_CYCLIC_H
#define LIB_WORKLOAD_CYCLIC_H

#include <stddef.h>
#include <stdint.h>

#include "base/log.h"

struct cyclic;
struct trigger;

/* The threads tell the trigger that they are the workload's; NULL: there is none. */
int cyclic_start(struct cyclic **ret, const int *cpus, size_t nr_cpus, uint64_t period_ns,
		 int priority, const struct trigger *trigger, const struct log *log);
/* Puts the thread of a CPU back there: the kernel moves it away when the CPU goes offline. */
int cyclic_cpu_online(struct cyclic *cyclic, int cpu);
/* Ends the threads; NULL does nothing. */
void cyclic_stop(struct cyclic *cyclic);

#endif
