/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* For each watched CPU: the Intel PT event, its AUX ring, and the sibling events by which the
 * kernel pauses, resumes or samples the trace. */
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
	const char *filter;	     /* resolved address filter, or NULL */
	const int *cpus;
	size_t nr_cpus;
	size_t aux_size;  /* of each ring; a power of two pages */
	size_t nr_copies; /* ring copies that must also fit in memory */
	/* perf's id of bpf_trace:bpf_trace_printk, and the messages that pause and resume the
	 * trace; 0: the kernel does neither. */
	uint64_t printk_id;
	uint64_t sample_type; /* of samples, in addition to PERF_SAMPLE_AUX */
	const char *pause_message, *resume_message;
	/* If not 0, the pause message samples this many of the newest bytes instead of pausing. */
	size_t sample_size;
};

/* Opens the events without enabling them. What the config points to must outlive them. -EOPNOTSUPP,
 * without a message: this kernel or PMU cannot pause. */
int pt_events_open(struct pt_events **ret, const struct pt_events_config *config,
		   const struct log *log);

/* Reopens the events of a CPU that was offline: the kernel has detached the old ones for good. Not
 * enabled; the ring is empty. On failure the CPU stays without events. */
int pt_events_reopen(struct pt_events *events, size_t cpu);

/* Whether the CPU has events; an offline CPU has. Required by the functions below. */
bool pt_events_has(const struct pt_events *events, size_t cpu);

int pt_events_enable(struct pt_events *events, size_t cpu);
/* Stops the trace, so that the kernel updates aux_head. */
int pt_events_disable(struct pt_events *events, size_t cpu);

/* Copies the ring, oldest byte first, and returns the offset of the next byte. The event must be
 * disabled. */
size_t pt_events_copy(const struct pt_events *events, size_t cpu, uint8_t *copy);

/* Takes the newest sample since the last call: a whole record, which the caller frees. -ENODATA:
 * none. */
int pt_events_take_sample(struct pt_events *events, size_t cpu, void **record);

/* Attributes of the sample event. */
const struct perf_event_attr *pt_events_sample_attr(const struct pt_events *events);

/* Copies the kernel's ids, for the caller to free: one per CPU of the PT events, then one per CPU
 * of the sample events. NULL: no memory. */
uint64_t *pt_events_ids(const struct pt_events *events);

void pt_events_free(struct pt_events *events);

#endif
