/* SPDX-License-Identifier: GPL-2.0-only */
/* The records of a trace.dat as events. Of a stack, which ftrace records after its event, and of
 * the functions that an event is in, callchains are made. */
#ifndef ANALYSIS_RING_EVENTS_H
#define ANALYSIS_RING_EVENTS_H

#include "code/symbols.h"
#include "events/tracepoints.h"
#include "ftrace/trace_dat.h"

struct ring_events;

/* Takes `dat`, on failure, too. Returns 0 or -ENOMEM. */
int ring_events_new(struct ring_events **ret, struct trace_dat *dat) _must_check_;
void ring_events_free(struct ring_events *ring);

/* As tracepoints_next(). */
bool ring_events_next(struct ring_events *ring, struct tracepoint_event *event);

enum ring_functions ring_events_functions(const struct ring_events *ring);

/* The function at an address; NULL: unknown. */
const char *ring_events_function(const struct ring_events *ring, uint64_t address);

/* The string at an address of the kernel; NULL: unknown. */
const char *ring_events_string(const struct ring_events *ring, uint64_t address);

/* The last known name of the nth task. False: there are fewer. */
bool ring_events_task(const struct ring_events *ring, size_t n, int *tid, const char **comm);

#endif
