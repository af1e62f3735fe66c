/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Filters of tracepoints, in the syntax of `perf record --filter`, for the programs of
 * bpf/filter.h. */
#ifndef LIB_TRIGGER_FILTER_H
#define LIB_TRIGGER_FILTER_H

#include <stddef.h>

#include "base/base.h"
#include "bpf/trigger.h"

struct filter;
struct trigger;

struct filter_config {
	/* Needed until filter_open() returns: the option, for messages, such as "trigger event";
	 * SYS:NAME/FILTER/ */
	const char *what, *event;
	enum trigger_filter number;
	/* None: all. Offline ones are skipped. */
	const int *cpus;
	size_t nr_cpus;
};

/* Whether SYS:NAME[/FILTER/] has a filter: 1, 0, or -EINVAL if it is empty or has no end. */
int filter_has(const char *event);

/* Makes room for all filters, before the programs are loaded. */
void filter_load(const struct trigger *trigger);
/* Creates trigger->filters[number]. Attach the program to the tracepoint between filter_open() and
 * filter_start(). The CPUs must outlive it. Logs failures; -EINVAL: the kernel rejects the
 * filter. */
int filter_open(struct trigger *trigger, const struct filter_config *config, const struct log *log);
/* NULL is ignored. */
int filter_start(const struct filter *filter);
/* Reopens the event of a CPU that was offline: the kernel has closed it. */
int filter_cpu_online(struct filter *filter, int cpu);
/* NULL is ignored. */
void filter_free(struct filter *filter);

#endif
