/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Counts a latency like the program, but without a system call. */
#ifndef LIB_TRIGGER_COUNT_H
#define LIB_TRIGGER_COUNT_H

#include "trigger/trigger.h"

/* Any thread; async-signal-safe. Returns 0 if counted, 1 if it may be a spike or a control, which
 * only the program can take, or -ENXIO if the CPU is not watched. */
int trigger_count(struct trigger *trigger, enum perf_poke_trigger_kind kind, int cpu,
		  uint64_t latency_ns);

/* For another process, which maps the rows only. Returns false if only the program can count it. */
bool trigger_count_below(struct trigger_cpu *cpu, uint64_t latency_ns);

#endif
