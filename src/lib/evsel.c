// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "evsel.h"

#include <fcntl.h>

#include <perf/core.h>
#include <perf/cpumap.h>
#include <perf/evsel.h>
#include <perf/threadmap.h>

#include <internal/evsel.h>
#include <internal/xyarray.h>

static int silent(enum libperf_print_level level __attribute__((unused)),
		  const char *format __attribute__((unused)), va_list ap __attribute__((unused)))
{
	return 0;
}

void evsel_init(void)
{
	libperf_init(silent);
}

int evsel_open(struct perf_evsel *evsel, struct perf_cpu_map *cpus, struct perf_thread_map *threads)
{
	int err = perf_evsel__open(evsel, cpus, threads);
	/* An int, or unsigned: libperf's versions differ. */
	size_t nr = perf_cpu_map__nr(cpus);

	for (size_t cpu = 0; !err && cpu < nr; cpu++)
		fcntl(evsel_fd(evsel, cpu), F_SETFD, FD_CLOEXEC);
	return err;
}

int evsel_fd(struct perf_evsel *evsel, size_t cpu)
{
	return *(int *)xyarray__entry(evsel->fd, cpu, 0);
}

void evsel_delete(struct perf_evsel *evsel)
{
	if (!evsel)
		return;
	perf_evsel__close(evsel);
	perf_evsel__free_id(evsel);
	perf_cpu_map__put(evsel->cpus);
	perf_thread_map__put(evsel->threads);
	evsel->cpus = NULL;
	evsel->threads = NULL;
	perf_evsel__delete(evsel);
}
