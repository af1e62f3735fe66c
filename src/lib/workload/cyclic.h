/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The workload cyclic: a real-time thread per CPU that sleeps one period at a time. It arms timers;
 * the trigger measures them. */
#ifndef LIB_WORKLOAD_CYCLIC_H
#define LIB_WORKLOAD_CYCLIC_H

#include <stddef.h>
#include <stdint.h>

#include "base/log.h"

struct cyclic;
struct trigger;

/* The threads call trigger_claim(), unless the trigger is NULL. */
int cyclic_start(struct cyclic **ret, const int *cpus, size_t nr_cpus, uint64_t period_ns,
		 int priority, const struct trigger *trigger, const struct log *log);
/* Moves the CPU's thread back: the kernel moved it when the CPU went offline. */
void cyclic_cpu_online(struct cyclic *cyclic, int cpu);
/* Ends the threads. NULL is ignored. */
void cyclic_stop(struct cyclic *cyclic);

#endif
