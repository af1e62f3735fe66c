/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Events by file descriptor, which libperf's public headers do not offer. */
#ifndef LIB_BASE_EVSEL_H
#define LIB_BASE_EVSEL_H

#include <stddef.h>

struct perf_cpu_map;
struct perf_evsel;

/* Call before any other function of libperf: reads the page size and silences libperf. */
void evsel_init(void);

/* Raises the soft limit of open files to the hard limit: each event takes a descriptor per CPU. */
void evsel_raise_nofile(void);

/* Opens a per-CPU event on each CPU of the map, with close-on-exec. */
int evsel_open(struct perf_evsel *evsel, struct perf_cpu_map *cpus);

/* The descriptor on the nth CPU of the map. */
int evsel_fd(struct perf_evsel *evsel, size_t cpu);

/* Closes and frees. Most versions of perf_evsel__delete() leak the ids and the maps. NULL is
 * ignored. */
void evsel_delete(struct perf_evsel *evsel);

#endif
