/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

/* The recorder `events`: which events it records, and PMU events. */
#ifndef LIB_RECORDER_EVENTS_H
#define LIB_RECORDER_EVENTS_H

#include <linux/perf_event.h>
#include <stdbool.h>

#include "machine/base.h"
#include "perf_poke.h"

/* The tracepoints and samples of the recorder events. */
struct event {
	char *name; /* sys:name, or see pmu_event.h */
	char *filter;
	bool optional; /* from a glob or the default set */
	uint64_t id;   /* the tracepoint's id, for perf_event_attr.config; 0: an event to sample */
	struct perf_event_attr sampled;
};

struct event_list {
	struct event *events;
	size_t nr;
};

/* Resolves the requested events, including globs; each must exist. Without a requested tracepoint,
 * takes the default set as far as this kernel has it. tracefs_fd: from tracefs_open(); root_fd: of
 * "/". */
int event_list_open(struct event_list *list, const struct perf_poke_event *asked, size_t nr,
		    int tracefs_fd, int root_fd, const struct log *log);
/* Adds the events of the osnoise tracer. */
int event_list_add_osnoise(struct event_list *list, int tracefs_fd);
/* Adds pmu_event_default(), if the machine has it, unless an event to sample was requested, or one
 * of the CPUs is isolated or without a tick: each sample is an NMI there, of which the log tells.
 */
int event_list_add_samples(struct event_list *list, int root_fd, const int *cpus, size_t nr_cpus,
			   const struct log *log);
/* Takes the strings, also on failure. */
int event_list_append(struct event_list *list, struct event event);
/* Whose requests to record, a set of enum senders_what: if the list has interrupts, calls or work;
 * if it has wakeups, but not their wakers. */
unsigned int event_list_senders(const struct event_list *list);
void event_list_close(struct event_list *list);

/* Events to sample, by perf record's names. */

/* Whether it is an event to sample, not a tracepoint: `cycles:pp`, `r1a8`,
 * `cpu-clock/period=100000/k`, `cpu/event=0x3c,umask=1/u`. */
bool pmu_event_is_name(const char *name);

/* Sets event, rate and modifiers in attr. root_fd: of "/". Logs errors. */
int pmu_event_parse(struct perf_event_attr *attr, int root_fd, const char *name,
		    const struct log *log);

/* The same for PMU_EVENT_DEFAULT, whose NMIs also sample code with interrupts off. False without a
 * PMU, or in a virtual machine, where each NMI costs several exits. */
#define PMU_EVENT_DEFAULT "cycles"
bool pmu_event_default(struct perf_event_attr *attr, int root_fd);

#endif
