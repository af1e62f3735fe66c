// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "rings.h"

#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include <perf/cpumap.h>
#include <perf/evlist.h>
#include <perf/evsel.h>
#include <perf/threadmap.h>

/* The descriptors, ids and addresses that the public headers do not give. */
#include <internal/evlist.h>
#include <internal/evsel.h>
#include <internal/mmap.h>

#include "cpulist.h"
#include "evsel.h"

/* What the kernel may be writing to a ring at a time: one record with the longest of paths, and
 * more. */
#define WRITING_MAX 8192

struct rings {
	struct perf_evlist *evlist;
	struct perf_cpu_map *cpus;
	struct perf_thread_map *threads; /* the one that stands for all */
	size_t nr_cpus;
	size_t size; /* bytes of a ring, without its control page */
};

/* Each event on each CPU is a descriptor: the soft limit of 1024 is soon reached. */
static void rings_raise_nofile(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int rings_open_event(struct rings *rings, struct ring_event *event, const struct log *log)
{
	struct perf_evsel *evsel = perf_evsel__new(&event->attr);
	int err;

	if (!evsel)
		return -ENOMEM;
	perf_evlist__add(rings->evlist, evsel);
	err = evsel_open(evsel, rings->cpus, rings->threads);
	if ((err == -EACCES || err == -EPERM) && event->optional) {
		log_write(log, PERF_POKE_LOG_DEBUG, "event %s: the kernel refuses to sample it",
			  event->name);
		perf_evlist__remove(rings->evlist, evsel);
		evsel_delete(evsel);
		return 0;
	}
	event->opened = true;
	if (err == -EACCES || err == -EPERM)
		return log_error(log, -EPERM, "event %s: the kernel refuses: needs CAP_PERFMON",
				 event->name);
	if (err == -EMFILE)
		return log_error(log, err, "event %s: too many open files (raise ulimit -n)",
				 event->name);
	if (err == -ENODEV)
		return log_error(log, err, "event %s: a CPU went offline", event->name);
	if (err)
		return log_error(log, err, "event %s: cannot open: %s", event->name,
				 strerror(-err));
	for (size_t cpu = 0; cpu < rings->nr_cpus; cpu++) {
		int fd = evsel_fd(evsel, cpu);

		if (event->filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, event->filter))
			return log_error(log, -errno,
					 "event %s: the kernel does not take the filter '%s': %s",
					 event->name, event->filter, strerror(errno));
	}
	return 0;
}

static int rings_map(struct rings *rings, size_t pages, const struct log *log)
{
	/* It returns -1 whatever failed. */
	errno = 0;
	if (!perf_evlist__mmap(rings->evlist, pages))
		return 0;
	if (errno == EPERM)
		return log_error(
			log, -EPERM,
			"rings of %zu KiB for each of %zu CPUs exceed the limit on locked memory "
			"(needs CAP_IPC_LOCK, a larger kernel.perf_event_mlock_kb, or a smaller "
			"buffer)",
			rings->size >> 10, rings->nr_cpus);
	return log_error(log, errno ? -errno : -ENOMEM,
			 "cannot map rings of %zu KiB for each of %zu CPUs: %s", rings->size >> 10,
			 rings->nr_cpus, strerror(errno ? errno : ENOMEM));
}

static int rings_open_all(struct rings *rings, struct ring_event *events, size_t nr, size_t pages,
			  const struct log *log)
{
	struct perf_evsel *evsel;
	int err;

	for (size_t i = 0; i < nr; i++) {
		err = rings_open_event(rings, &events[i], log);
		if (err)
			return err;
	}
	err = rings_map(rings, pages, log);
	if (err)
		return err;
	perf_evlist__for_each_evsel (rings->evlist, evsel) {
		while (!events->opened)
			events++;
		(events++)->ids = evsel->id;
	}
	return 0;
}

int rings_open(struct rings **ret, struct ring_event *events, size_t nr, const int *cpus,
	       size_t nr_cpus, size_t pages, const struct log *log)
{
	_cleanup_free_ char *list = NULL;
	struct rings *rings;
	int err;

	err = cpulist_format(cpus, nr_cpus, &list);
	if (err)
		return err;
	rings = calloc(1, sizeof(*rings));
	if (!rings)
		return -ENOMEM;
	evsel_init();
	rings_raise_nofile();
	rings->nr_cpus = nr_cpus;
	rings->size = pages * sysconf(_SC_PAGESIZE);
	rings->cpus = perf_cpu_map__new(list);
	rings->threads = perf_thread_map__new_dummy();
	rings->evlist = perf_evlist__new();
	if (!rings->cpus || !rings->threads || !rings->evlist) {
		rings_free(rings);
		return -ENOMEM;
	}
	/* Without it, 7.2 and later open on all online CPUs whatever the map says. */
	rings->evlist->has_user_cpus = true;
	perf_evlist__set_maps(rings->evlist, rings->cpus, rings->threads);
	err = rings_open_all(rings, events, nr, pages, log);
	if (err) {
		rings_free(rings);
		return err;
	}
	*ret = rings;
	return 0;
}

size_t rings_pages(uint64_t size)
{
	size_t page = sysconf(_SC_PAGESIZE), pages = 1;

	while (pages * page < size)
		pages <<= 1;
	return pages;
}

static int rings_pause_cpu(struct rings *rings, size_t cpu, unsigned int paused)
{
	return ioctl(rings->evlist->mmap_ovw[cpu].fd, PERF_EVENT_IOC_PAUSE_OUTPUT, paused) ? -errno
											   : 0;
}

static int rings_pause_all(struct rings *rings, int first_cpu, unsigned int paused)
{
	int ret = 0;

	for (int others = 0; others < 2; others++) {
		for (size_t i = 0; i < rings->nr_cpus; i++) {
			bool first = rings->evlist->mmap_ovw[i].cpu.cpu == first_cpu;
			int err = first == !others ? rings_pause_cpu(rings, i, paused) : 0;

			if (err && !ret)
				ret = err;
		}
	}
	return ret;
}

int rings_pause(struct rings *rings, int first_cpu)
{
	return rings_pause_all(rings, first_cpu, 1);
}

int rings_resume(struct rings *rings)
{
	return rings_pause_all(rings, -1, 0);
}

/* The ring grows downwards: the newest record begins at data_head, older ones follow. */
static int ring_copy(const struct perf_mmap *map, size_t size, struct ring_copy *copy)
{
	const struct perf_event_mmap_page *page = map->base;
	const char *ring = (const char *)map->base + sysconf(_SC_PAGESIZE);
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	uint64_t held = -head < size ? -head : size;
	size_t offset = head & (size - 1);
	size_t first = held < size - offset ? held : size - offset;
	uint64_t overwritten;

	copy->cpu = map->cpu.cpu;
	copy->data = malloc(held ? held : 1);
	if (!copy->data)
		return -ENOMEM;
	memcpy(copy->data, ring + offset, first);
	memcpy(copy->data + first, ring, held - first);

	/* A record that was being written when the ring was paused has overwritten the oldest ones.
	 */
	overwritten = head - __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	overwritten = overwritten < size ? overwritten : size;
	copy->size = held < size - overwritten ? held : size - overwritten;
	return 0;
}

static int rings_copy_all(const struct rings *rings, struct ring_copy *copies, size_t left_out)
{
	for (size_t i = 0; i < rings->nr_cpus; i++) {
		int err = ring_copy(&rings->evlist->mmap_ovw[i], rings->size, &copies[i]);

		if (err)
			return err;
		if (copies[i].size > rings->size - left_out)
			copies[i].size = rings->size - left_out;
	}
	return 0;
}

int rings_copy(const struct rings *rings, struct ring_copy *copies)
{
	return rings_copy_all(rings, copies, 0);
}

int rings_copy_running(const struct rings *rings, struct ring_copy *copies)
{
	return rings_copy_all(rings, copies, WRITING_MAX);
}

void rings_free(struct rings *rings)
{
	if (!rings)
		return;
	if (rings->evlist) {
		struct perf_evsel *evsel;

		perf_evlist__munmap(rings->evlist);
		perf_evlist__close(rings->evlist);
		while ((evsel = perf_evlist__next(rings->evlist, NULL))) {
			perf_evlist__remove(rings->evlist, evsel);
			evsel_delete(evsel);
		}
		perf_evlist__delete(rings->evlist);
	}
	perf_thread_map__put(rings->threads);
	perf_cpu_map__put(rings->cpus);
	free(rings);
}
