/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What libperf's public headers do not offer: file descriptors of events. */
#ifndef LIB_BASE_EVSEL_H
#define LIB_BASE_EVSEL_H

#include <stddef.h>

struct perf_cpu_map;
struct perf_evsel;

/* Before all else of libperf: reads the page size, and keeps it from printing. */
void evsel_init(void);

/* Opens on the CPUs, for whatever runs there, close-on-exec. */
int evsel_open(struct perf_evsel *evsel, struct perf_cpu_map *cpus);

/* The descriptor on the nth CPU of the map. */
int evsel_fd(struct perf_evsel *evsel, size_t cpu);

/* Closes and frees; libperf's own leaks the ids and the maps in most versions. NULL does nothing.
 */
void evsel_delete(struct perf_evsel *evsel);

#endif
