/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Which tracepoints the events recorder records, and what it samples. */
#ifndef LIB_RECORDER_EVENTS_H
#define LIB_RECORDER_EVENTS_H

#include <stdbool.h>

#include <linux/perf_event.h>

#include "base/log.h"
#include "perf_poke.h"

struct event {
	char *name; /* sys:name, or as in pmu_event.h */
	char *filter;
	bool optional; /* from a glob or the default choice: nobody insists on it */
	uint64_t id;   /* the tracepoint's number, for perf_event_attr.config; 0: it is sampled */
	struct perf_event_attr sampled;
};

struct event_list {
	struct event *events;
	size_t nr;
};

/* The events asked for, with globs resolved; each must exist. With no tracepoint asked for, those
 * of the default choice that this kernel has. tracefs_fd as of tracefs_open(), root_fd: of "/". */
int event_list_open(struct event_list *list, const struct perf_poke_event *asked, size_t nr,
		    int tracefs_fd, int root_fd, const struct log *log);
/* With nothing asked for that is sampled: pmu_event_default(), where the machine has it. */
int event_list_add_samples(struct event_list *list, int root_fd);
void event_list_close(struct event_list *list);

#endif
