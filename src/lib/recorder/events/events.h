/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Which tracepoints the events recorder records. */
#ifndef LIB_RECORDER_EVENTS_H
#define LIB_RECORDER_EVENTS_H

#include <stdbool.h>

#include "base/log.h"
#include "perf_poke.h"

struct event {
	char *name; /* sys:name */
	char *filter;
	bool optional; /* from a glob or the default choice: nobody insists on it */
	uint64_t id;   /* the tracepoint's number, for perf_event_attr.config */
};

struct event_list {
	struct event *events;
	size_t nr;
};

/* The events asked for, with globs resolved; each must exist. With none asked for, those of the
 * default choice that this kernel has. tracefs_fd as of tracefs_open(). */
int event_list_open(struct event_list *list, const struct perf_poke_event *asked, size_t nr,
		    int tracefs_fd, const struct log *log);
void event_list_close(struct event_list *list);

#endif
