/* SPDX-License-Identifier: GPL-2.0-only */
/* From tracepoints, as perf script prints them, to spans: interrupts, softirqs, timers and tasks.
 */
#ifndef REPORT_EVENTS_SPANS_H
#define REPORT_EVENTS_SPANS_H

#include <stdio.h>

#include "spans.h"

/* The fields of perf script that the lines are to have, with --ns. */
#define EVENTS_SPANS_FIELDS "trace:tid,cpu,time,event,trace"

/* Lines of one CPU in order, of all events up to `end`. What is before `begin` is only taken for
 * what it leaves open then. Returns 0, -ENODATA if there is no such line, or another negative
 * errno. */
int events_spans_read(FILE *file, uint64_t begin, uint64_t end, struct spans *spans) _must_check_;

#endif
