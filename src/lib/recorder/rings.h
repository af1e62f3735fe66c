/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Overwrite rings of perf events, one per CPU, opened through libperf. */
#ifndef LIB_RECORDER_RINGS_H
#define LIB_RECORDER_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/perf_event.h>

#include "base/log.h"

/* An event to open on every CPU. */
struct ring_event {
	struct perf_event_attr attr;
	const char *name;
	const char *filter;
	bool optional;	   /* skipped if the kernel refuses it, as for some tracepoints and PMUs */
	bool needs_filter; /* skipped where the kernel refuses the filter */
	bool opened;	   /* set by rings_open() */
};

/* Records of a backward ring, newest first. The oldest may be torn. */
struct ring_copy {
	int cpu;
	char *data;
	size_t size;
};

struct rings;

/* Opens, maps and enables the events. pages: a power of two. The events and what they point to must
 * outlive the rings. */
int rings_open(struct rings **ret, struct ring_event *events, size_t nr, const int *cpus,
	       size_t nr_cpus, size_t pages, const struct log *log);
/* Pages for at least `size` bytes, a power of two. */
size_t rings_pages(uint64_t size);

int rings_pause(struct rings *rings, int first_cpu);
int rings_resume(struct rings *rings);
/* Fills `copies`, one per CPU. The caller frees each `data`, also on failure. */
int rings_copy(const struct rings *rings, struct ring_copy *copies);
/* The same for rings that are not paused. Omits the oldest records of a full ring, which the kernel
 * may be overwriting. */
int rings_copy_running(const struct rings *rings, struct ring_copy *copies);

/* Reopens the events of a CPU that was offline: the kernel has detached the old ones for good. The
 * ring is empty, and stays empty on failure. Ignores CPUs without a ring. */
int rings_reopen(struct rings *rings, int cpu);
/* The same for rings with one event: the new event continues the old ring. */
int rings_join(struct rings *rings, int cpu);

/* Copies the kernel's ids, for the caller to free: for each open event a row with one id per CPU,
 * then the ids of records kept by rings_join(). NULL: no memory. */
uint64_t *rings_ids(const struct rings *rings, size_t *nr);

struct json_object;
/* Adds the names and filters of the opened events to a list. */
void rings_describe(const struct ring_event *events, size_t nr, struct json_object *list);

void rings_free(struct rings *rings);

#endif
