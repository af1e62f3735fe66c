/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Reports latencies to the trigger's program. */
#ifndef LIB_TRIGGER_REPORT_H
#define LIB_TRIGGER_REPORT_H

#include "perf_poke.h"

struct trigger;

/* One system call; async-signal-safe. Returns 1 if it took a spike, 0 if not, or a negative errno
 * as perf_poke__report(). */
int report_send(int prog_fd, const struct perf_poke_report *report);

/* The same for a session of this process: latencies that are no spike are counted without a system
 * call, faster than a write to trace_marker. */
int report_count(struct trigger *trigger, int prog_fd, const struct perf_poke_report *report);

#endif
