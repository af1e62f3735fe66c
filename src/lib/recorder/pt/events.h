/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The Intel PT event of each watched CPU with its AUX ring, and the events beside it that stop and
 * start the trace from within the kernel. */
#ifndef LIB_RECORDER_PT_EVENTS_H
#define LIB_RECORDER_PT_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/perf_event.h>

#include "base/log.h"

struct pt_events;

struct pt_events_config {
	struct perf_event_attr attr; /* of the PT event */
	const char *filter;	     /* address filter, resolved, or NULL */
	const int *cpus;
	size_t nr_cpus;
	size_t aux_size;  /* bytes of each ring, a power of two pages */
	size_t nr_copies; /* of rings, for which there must be memory too */
	/* Where the kernel is to pause and resume the trace: the tracepoint
	 * bpf_trace:bpf_trace_printk, 0 for not, and the messages that do it. */
	uint64_t printk_id;
	uint64_t sample_type; /* of samples, besides the trace */
	const char *pause_message, *resume_message;
	/* Instead of pausing: the pause message has so many bytes of the newest trace copied into a
	 * sample. */
	size_t sample_size;
};

/* Opened, not enabled. What the config points to must outlive the events. -EOPNOTSUPP, without a
 * message: this kernel or PMU cannot pause. */
int pt_events_open(struct pt_events **ret, const struct pt_events_config *config,
		   const struct log *log);

/* After a CPU was offline, for which the kernel has detached its events for good: opens them again,
 * not enabled, with a new and empty ring. On failure it has none from now on. */
int pt_events_reopen(struct pt_events *events, size_t cpu);

/* Whether there are events of that CPU; those that are offline have some. The functions with a
 * `cpu` below are only for it then. */
bool pt_events_has(const struct pt_events *events, size_t cpu);

int pt_events_enable(struct pt_events *events, size_t cpu);
/* Stops, and makes the kernel say where the trace ends. */
int pt_events_disable(struct pt_events *events, size_t cpu);

/* Copies the ring's bytes, oldest first, and returns where in the ring the next byte would go. Only
 * while disabled. */
size_t pt_events_copy(const struct pt_events *events, size_t cpu, uint8_t *copy);

/* The newest sample of the CPU's trace since the last call, a whole record, for the caller to free.
 * -ENODATA: none. */
int pt_events_take_sample(struct pt_events *events, size_t cpu, void **record);

/* The event of the samples. */
const struct perf_event_attr *pt_events_sample_attr(const struct pt_events *events);

/* A copy, for the caller to free, of the kernel's ids: one of the PT event for each CPU, then one
 * of the samples for each. NULL: no memory. */
uint64_t *pt_events_ids(const struct pt_events *events);

void pt_events_free(struct pt_events *events);

#endif
