/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Reports latencies to the trigger's program. */
#ifndef LIB_TRIGGER_REPORT_H
#define LIB_TRIGGER_REPORT_H

#include "perf_poke.h"

struct trigger;
struct trigger_cpu;

/* Async-signal-safe. Latencies that are no spike are counted without a system call, faster than a
 * write to trace_marker. Returns 1 if it took a spike, 0 if not, or a negative errno as
 * perf_poke__report(). */
int report_count(struct trigger *trigger, int prog_fd, const struct perf_poke_report *report);

/* The same for a session of another process, whose rows of PERF_POKE_TRIGGER_REPORT are mapped. */
int report_remote(struct trigger_cpu *rows, size_t nr_rows, int prog_fd,
		  const struct perf_poke_report *report);

#endif
