/* SPDX-License-Identifier: GPL-2.0-only */
/* From tracepoints to spans: interrupts, softirqs, timers and tasks. */
#ifndef REPORT_EVENTS_SPANS_H
#define REPORT_EVENTS_SPANS_H

#include "spans.h"
#include "tracepoints.h"

/* Those of one CPU, all up to `end`. What is before `begin` is only taken for what it leaves open
 * then. Returns 0, -ENODATA if there is no event, -E2BIG: there are more than spans can be, or
 * -ENOMEM. */
int events_spans_read(struct tracepoints *tracepoints, uint64_t begin, uint64_t end,
		      struct spans *spans) _must_check_;

#endif
