/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A filter of a tracepoint, as in `perf record --filter`, for the programs of bpf/filter.h. */
#ifndef LIB_TRIGGER_FILTER_H
#define LIB_TRIGGER_FILTER_H

#include <stddef.h>

#include "base/log.h"
#include "bpf/trigger.h"

struct filter;
struct trigger;

struct filter_config {
	/* Needed only until filter_open() returns: names the option in messages, as "trigger
	 * event"; SYS:NAME/FILTER/ */
	const char *what, *event;
	enum trigger_filter number;
	/* None: all. Those that are offline are left out. */
	const int *cpus;
	size_t nr_cpus;
};

/* Whether a tracepoint SYS:NAME[/FILTER/] has a filter: 0, 1, or -EINVAL: it does not end, or is
 * empty. */
int filter_has(const char *event);

/* Before the programs are loaded: makes room for all filters. */
void filter_load(const struct trigger *trigger);
/* Makes trigger->filters[number]. Call before the program is attached to the tracepoint, and
 * filter_start() after it. The CPUs must outlive it. Logs why it fails: -EINVAL: the kernel rejects
 * the filter. */
int filter_open(struct trigger *trigger, const struct filter_config *config, const struct log *log);
/* NULL is ignored. */
int filter_start(const struct filter *filter);
/* The CPU is back: the kernel has closed its event. */
int filter_cpu_online(struct filter *filter, int cpu);
/* NULL is ignored. */
void filter_free(struct filter *filter);

#endif
