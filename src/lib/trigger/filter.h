/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A filter of a tracepoint, as in `perf record --filter`, for the programs of bpf/filter.h. */
#ifndef LIB_TRIGGER_FILTER_H
#define LIB_TRIGGER_FILTER_H

#include <stddef.h>

#include "base/log.h"

struct filter;

struct filter_config {
	const char *what;  /* names the option in messages, as "trigger event" */
	const char *event; /* SYS:NAME/FILTER/ */
	/* Of filter_events and filter_seen, which have an entry for each filter and possible CPU.
	 */
	int events_fd, seen_fd;
	int number;
	int nr_possible;
	/* Those that are offline are left out. */
	const int *cpus;
	size_t nr_cpus;
};

/* Whether a tracepoint SYS:NAME[/FILTER/] has a filter: 0, 1, or -EINVAL: it does not end, or is
 * empty. */
int filter_has(const char *event);

/* Call before the program is attached to the tracepoint, and filter_start() after it. The CPUs must
 * outlive it. Logs why it fails: -EINVAL: the kernel rejects the filter. */
int filter_open(struct filter **ret, const struct filter_config *config, const struct log *log);
int filter_start(const struct filter *filter);
/* The CPU is back: the kernel has closed its event. */
int filter_cpu_online(struct filter *filter, int cpu);
/* NULL is ignored. */
void filter_free(struct filter *filter);

#endif
