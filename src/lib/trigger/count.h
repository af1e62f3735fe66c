/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Counts a latency as the program does, without a system call. */
#ifndef LIB_TRIGGER_COUNT_H
#define LIB_TRIGGER_COUNT_H

#include "trigger/trigger.h"

/* Any thread; async-signal-safe. Returns 0: counted; 1: not counted, because the session might take
 * it as a spike, which the program has to decide; -ENXIO: the CPU is not watched. */
int trigger_count(struct trigger *trigger, enum trigger_kind kind, int cpu, uint64_t latency_ns);

#endif
