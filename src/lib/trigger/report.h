/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Reports latencies to the trigger's program. */
#ifndef LIB_TRIGGER_REPORT_H
#define LIB_TRIGGER_REPORT_H

#include "perf_poke.h"
#include "trigger/count.h"

/* A session of this or of another process. */
struct reporter {
	int prog_fd; /* negative: it does not watch PERF_POKE_TRIGGER_REPORT */
	struct trigger_counters counters;
};

/* Async-signal-safe. A latency of which no capture is taken is counted without a system call,
 * faster than a write to trace_marker. Returns 1 if it took a spike, 0 if not, or a negative errno
 * as perf_poke__report(). */
int report_count(const struct reporter *reporter, const struct perf_poke_report *report);

#endif
