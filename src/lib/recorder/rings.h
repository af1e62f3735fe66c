/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Overwrite rings of perf events, one for each CPU, opened through libperf. */
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
	bool optional; /* left out where the kernel refuses it: some tracepoints are not for
			  sampling */
	bool opened;   /* set by rings_open() */
};

/* What one ring held: records, newest first, as the kernel lays them in a backward ring. The oldest
 * may be torn. */
struct ring_copy {
	int cpu;
	char *data;
	size_t size;
};

struct rings;

/* Opens and maps, enabled. pages: of 4096 bytes or whatever the machine's are, a power of two. The
 * events and what they point to must outlive the rings. */
int rings_open(struct rings **ret, struct ring_event *events, size_t nr, const int *cpus,
	       size_t nr_cpus, size_t pages, const struct log *log);
/* The pages of a ring that holds at least so many bytes. */
size_t rings_pages(uint64_t size);

int rings_pause(struct rings *rings, int first_cpu);
int rings_resume(struct rings *rings);
/* Fills `copies`, one for each CPU; `data` is the caller's to free, also on failure. */
int rings_copy(const struct rings *rings, struct ring_copy *copies);
/* The same of rings that are not paused. A full one is less some of its oldest records, for the
 * kernel may be writing over them. */
int rings_copy_running(const struct rings *rings, struct ring_copy *copies);

/* After a CPU was offline, for which the kernel has detached its events for good: opens them again
 * with a new and empty ring. On failure its ring is empty from now on. A CPU that has no ring is
 * none to open. */
int rings_reopen(struct rings *rings, int cpu);
/* The same for rings of a single event, whose old records are kept: the new event writes to the
 * old ring, and on failure nothing does. */
int rings_join(struct rings *rings, int cpu);

/* A copy, for the caller to free, of the kernel's ids: a row of one for each CPU for each event
 * that is opened, in their order; then those of records that rings_join() has kept. NULL: no
 * memory. */
uint64_t *rings_ids(const struct rings *rings, size_t *nr);

void rings_free(struct rings *rings);

#endif
