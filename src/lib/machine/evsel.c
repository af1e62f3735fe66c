// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "machine/base.h"

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <perf/core.h>
#include <perf/cpumap.h>
#include <perf/evsel.h>
#include <perf/threadmap.h>

#include <internal/evsel.h>
#include <internal/xyarray.h>

static int drop_libperf_message(enum libperf_print_level level __attribute__((unused)),
				const char *format __attribute__((unused)),
				va_list ap __attribute__((unused)))
{
	return 0;
}

static void init_libperf(void)
{
	libperf_init(drop_libperf_message);
}

/* libperf has global variables, which sessions in several threads share. */
void evsel_init_libperf(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, init_libperf);
}

void evsel_raise_nofile(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int evsel_open_on_cpu(struct perf_evsel *evsel, int index, int cpu)
{
	int group = evsel->leader == evsel ? -1 : evsel_fd(evsel->leader, index);
	int fd = syscall(SYS_perf_event_open, &evsel->attr, -1, cpu, group, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	*(int *)xyarray__entry(evsel->fd, index, 0) = fd;
	return 0;
}

/* perf_evsel__open() does not set close-on-exec. A child forked by another thread would keep the
 * event open, and Intel PT allows one user at a time. */
int evsel_open_on_cpus(struct perf_evsel *evsel, struct perf_cpu_map *cpus)
{
	/* int or unsigned, depending on libperf's version. */
	int nr = (int)perf_cpu_map__nr(cpus);
	int err = perf_evsel__alloc_fd(evsel, nr, 1);

	for (int i = 0; i < nr && !err; i++)
		err = evsel_open_on_cpu(evsel, i, perf_cpu_map__cpu(cpus, i).cpu);
	if (err)
		perf_evsel__close(evsel);
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
