// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "recorder/recorder.h"

#include <string.h>
#include <sys/ioctl.h>

#include <perf/cpumap.h>
#include <perf/evlist.h>
#include <perf/evsel.h>
#include <perf/threadmap.h>

/* For descriptors, ids and addresses. */
#include <internal/evlist.h>
#include <internal/evsel.h>
#include <internal/mmap.h>

#include "json_util.h"
#include "machine/base.h"

/* Exceeds what the kernel may be writing: a record with the longest path. */
#define WRITING_MAX 8192

/* One CPU, with its own list, because its events are reopened after it was offline. */
struct ring {
	int cpu;
	struct perf_cpu_map *cpus;  /* this CPU */
	struct perf_evlist *evlist; /* NULL: could not be reopened */
	struct perf_evsel *joined;  /* writes to the ring now; NULL: the list's event */
	bool paused;
};

struct rings {
	struct perf_thread_map *threads; /* dummy: all threads */
	struct ring_event *events;
	size_t nr_events;
	size_t pages, size; /* of a ring, without its control page; size in bytes */
	/* A row of nr_cpus for each open event, then ids of former events with records still in a
	 * ring. */
	uint64_t *ids;
	size_t nr_ids;
	/* For the next copy of a paused ring: memory that was never touched would cost a fault a
	 * page, ten times as long as the copy. NULL: a capture has it. */
	char *spare;
	size_t nr_cpus;
	struct ring rings[];
};

static bool pmu_cannot_sample(int err, const struct ring_event *event)
{
	bool of_pmu =
		event->attr.type != PERF_TYPE_SOFTWARE && event->attr.type != PERF_TYPE_TRACEPOINT;

	return of_pmu && (err == -ENOENT || err == -EOPNOTSUPP || err == -EINVAL);
}

static int ring_explain_open(int err, const struct ring_event *event, const struct log *log)
{
	if (err == -EACCES || err == -EPERM)
		return log_error(log, -EPERM,
				 "event %s: permission denied: needs CAP_PERFMON, or CAP_SYS_ADMIN "
				 "where kernel.perf_event_paranoid is above 2",
				 event->name);
	if (err == -EMFILE)
		return log_error(log, err, "event %s: too many open files (raise ulimit -n)",
				 event->name);
	if (pmu_cannot_sample(err, event))
		return log_error(log, -ENOENT, "event %s: no PMU of this machine samples it (%s)%s",
				 event->name, strerror(-err),
				 event->attr.type == PERF_TYPE_HARDWARE ? ": use cpu-clock" : "");
	if (err == -ENODEV)
		return log_error(log, err, "event %s: a CPU went offline", event->name);
	return log_error(log, err, "event %s: cannot open: %s", event->name, strerror(-err));
}

static void ring_leave_event_out(struct ring *ring, struct perf_evsel *evsel,
				 struct ring_event *event, const struct log *log)
{
	log_write(log, PERF_POKE_LOG_DEBUG, "event %s: the kernel refuses to sample it",
		  event->name);
	perf_evlist__remove(ring->evlist, evsel);
	evsel_delete(evsel);
	event->opened = false;
}

static int ring_open_event(const struct rings *rings, struct ring *ring, struct ring_event *event,
			   const struct log *log)
{
	struct perf_evsel *evsel = perf_evsel__new(&event->attr);
	/* The first CPU decides for all. */
	bool decides = ring == rings->rings && !rings->nr_ids;
	int err;

	if (!evsel)
		return -ENOMEM;
	perf_evlist__add(ring->evlist, evsel);
	evsel->cpus = perf_cpu_map__get(ring->cpus);
	evsel->threads = perf_thread_map__get(rings->threads);
	err = evsel_open_on_cpus(evsel, ring->cpus);
	if ((err == -EACCES || err == -EPERM || pmu_cannot_sample(err, event)) && event->optional &&
	    decides) {
		ring_leave_event_out(ring, evsel, event, log);
		return 0;
	}
	if (err)
		return ring_explain_open(err, event, log);
	if (!event->filter || !ioctl(evsel_fd(evsel, 0), PERF_EVENT_IOC_SET_FILTER, event->filter))
		return 0;
	if (!event->needs_filter || !decides)
		return log_error(log, -errno, "event %s: the kernel rejects the filter '%s': %s",
				 event->name, event->filter, strerror(errno));
	ring_leave_event_out(ring, evsel, event, log);
	return 0;
}

static int ring_open_events(const struct rings *rings, struct ring *ring, const struct log *log)
{
	int err = 0;

	ring->evlist = perf_evlist__new();
	if (!ring->evlist)
		return -ENOMEM;
	/* Since libperf 7.2 perf_evlist__set_maps() drops events of offline CPUs. */
	ring->evlist->all_cpus = perf_cpu_map__get(ring->cpus);
	ring->evlist->threads = perf_thread_map__get(rings->threads);
	for (size_t i = 0; i < rings->nr_events && !err; i++) {
		if (rings->events[i].opened)
			err = ring_open_event(rings, ring, &rings->events[i], log);
	}
	return err;
}

static int ring_map_memory(struct rings *rings, struct ring *ring, const struct log *log)
{
	uint64_t *id = rings->ids + (ring - rings->rings);
	struct perf_evsel *evsel;

	/* Returns -1 for any error. */
	errno = 0;
	if (!perf_evlist__mmap(ring->evlist, rings->pages)) {
		perf_evlist__for_each_evsel (ring->evlist, evsel) {
			*id = evsel->id[0];
			id += rings->nr_cpus;
		}
		return 0;
	}
	if (errno == EPERM)
		return log_error(
			log, -EPERM,
			"rings of %zu KiB for each of %zu CPUs exceed the limit on locked "
			"memory (needs CAP_IPC_LOCK, a larger kernel.perf_event_mlock_kb, or a "
			"smaller buffer)",
			rings->size >> 10, rings->nr_cpus);
	return log_error(log, errno ? -errno : -ENOMEM,
			 "cannot map rings of %zu KiB for each of %zu CPUs: %s", rings->size >> 10,
			 rings->nr_cpus, strerror(errno ? errno : ENOMEM));
}

static void ring_close_events(struct ring *ring)
{
	struct perf_evsel *evsel;

	evsel_delete(ring->joined);
	ring->joined = NULL;
	if (!ring->evlist)
		return;
	perf_evlist__munmap(ring->evlist);
	perf_evlist__close(ring->evlist);
	while ((evsel = perf_evlist__next(ring->evlist, NULL))) {
		perf_evlist__remove(ring->evlist, evsel);
		evsel_delete(evsel);
	}
	perf_evlist__delete(ring->evlist);
	ring->evlist = NULL;
}

static int rings_open_all(struct rings *rings, const int *cpus, const struct log *log)
{
	int err = 0;

	for (size_t i = 0; i < rings->nr_cpus && !err; i++) {
		struct ring *ring = &rings->rings[i];
		char name[16];

		snprintf(name, sizeof(name), "%d", cpus[i]);
		ring->cpu = cpus[i];
		ring->cpus = perf_cpu_map__new(name);
		err = ring->cpus ? ring_open_events(rings, ring, log) : -ENOMEM;
	}
	for (size_t i = 0; i < rings->nr_cpus && !err; i++)
		err = ring_map_memory(rings, &rings->rings[i], log);
	return err;
}

int rings_open(struct rings **ret, struct ring_event *events, size_t nr, const int *cpus,
	       size_t nr_cpus, size_t pages, const struct log *log)
{
	struct rings *rings = calloc(1, sizeof(*rings) + nr_cpus * sizeof(rings->rings[0]));
	int err;

	if (!rings)
		return -ENOMEM;
	evsel_init_libperf();
	evsel_raise_nofile();
	rings->events = events;
	rings->nr_events = nr;
	rings->nr_cpus = nr_cpus;
	rings->pages = pages;
	rings->size = pages * sysconf(_SC_PAGESIZE);
	rings->threads = perf_thread_map__new_dummy();
	rings->ids = calloc(nr * nr_cpus, sizeof(*rings->ids));
	for (size_t i = 0; i < nr; i++)
		events[i].opened = true;
	err = rings->threads && rings->ids ? rings_open_all(rings, cpus, log) : -ENOMEM;
	if (err) {
		rings_free(rings);
		return err;
	}
	for (size_t i = 0; i < nr; i++)
		rings->nr_ids += events[i].opened ? nr_cpus : 0;
	*ret = rings;
	return 0;
}

static struct ring *rings_of_cpu(struct rings *rings, int cpu)
{
	for (size_t i = 0; i < rings->nr_cpus; i++) {
		if (rings->rings[i].cpu == cpu)
			return &rings->rings[i];
	}
	return NULL;
}

static int ring_open_again(struct rings *rings, struct ring *ring)
{
	const struct log none = {};
	int err = ring_open_events(rings, ring, &none);

	if (!err)
		err = ring_map_memory(rings, ring, &none);
	if (err)
		ring_close_events(ring);
	return err;
}

int rings_reopen_cpu(struct rings *rings, int cpu)
{
	struct ring *ring = rings_of_cpu(rings, cpu), former;
	int err;

	if (!ring)
		return 0;
	/* Unmap first: the limit on locked memory may not allow both. Close last: the kernel waits
	 * for a grace period when a tracepoint loses its last event, some 30 ms for each. */
	if (ring->evlist)
		perf_evlist__munmap(ring->evlist);
	former = *ring;
	ring->evlist = NULL;
	ring->joined = NULL;
	err = ring_open_again(rings, ring);
	ring_close_events(&former);
	return err == -EMFILE ? ring_open_again(rings, ring) : err;
}

/* Replaces the CPU's id; the old one moves to the former ids. */
static int rings_add_id(struct rings *rings, const struct ring *ring, uint64_t id)
{
	uint64_t *of_cpu, *ids = realloc(rings->ids, (rings->nr_ids + 1) * sizeof(*ids));

	if (!ids)
		return -ENOMEM;
	of_cpu = &ids[ring - rings->rings];
	ids[rings->nr_ids++] = *of_cpu;
	*of_cpu = id;
	rings->ids = ids;
	return 0;
}

int rings_join_cpu(struct rings *rings, int cpu)
{
	struct ring *ring = rings_of_cpu(rings, cpu);
	struct perf_evsel *evsel;
	uint64_t id;
	int err;

	if (!ring)
		return 0;
	evsel = perf_evsel__new(&rings->events[0].attr);
	if (!evsel)
		return -ENOMEM;
	err = evsel_open_on_cpus(evsel, ring->cpus);
	if (!err &&
	    (ioctl(evsel_fd(evsel, 0), PERF_EVENT_IOC_ID, &id) ||
	     ioctl(evsel_fd(evsel, 0), PERF_EVENT_IOC_SET_OUTPUT, ring->evlist->mmap_ovw[0].fd)))
		err = -errno;
	if (!err)
		err = rings_add_id(rings, ring, id);
	if (err) {
		evsel_delete(evsel);
		return err;
	}
	evsel_delete(ring->joined);
	ring->joined = evsel;
	return 0;
}

uint64_t *rings_ids(const struct rings *rings, size_t *nr)
{
	uint64_t *ids = malloc(rings->nr_ids * sizeof(*ids));

	if (ids)
		memcpy(ids, rings->ids, rings->nr_ids * sizeof(*ids));
	*nr = rings->nr_ids;
	return ids;
}

size_t rings_pages_for_size(uint64_t size)
{
	size_t page = sysconf(_SC_PAGESIZE), pages = 1;

	while (pages * page < size)
		pages <<= 1;
	return pages;
}

static int ring_pause(struct ring *ring, bool paused)
{
	ring->paused = paused;
	return ring->evlist && ioctl(ring->evlist->mmap_ovw[0].fd, PERF_EVENT_IOC_PAUSE_OUTPUT,
				     paused)
		       ? -errno
		       : 0;
}

int rings_pause(struct rings *rings, int cpu, int other)
{
	int ret = 0, err;

	for (size_t i = 0; i < rings->nr_cpus; i++) {
		struct ring *ring = &rings->rings[i];

		if (cpu >= 0 && ring->cpu != cpu && ring->cpu != other)
			continue;
		err = ring_pause(ring, true);
		ret = ret ? ret : err;
	}
	return ret;
}

int rings_resume(struct rings *rings)
{
	int ret = 0, err;

	for (size_t i = 0; i < rings->nr_cpus; i++) {
		if (!rings->rings[i].paused)
			continue;
		err = ring_pause(&rings->rings[i], false);
		ret = ret ? ret : err;
	}
	return ret;
}

/* A backward ring: the newest record begins at data_head, older ones follow. */
static int ring_copy_records(const struct perf_mmap *map, size_t size, struct ring_copy *copy)
{
	const struct perf_event_mmap_page *page = map->base;
	const char *ring = (const char *)map->base + sysconf(_SC_PAGESIZE);
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	uint64_t held = -head < size ? -head : size;
	size_t offset = head & (size - 1);
	size_t first = held < size - offset ? held : size - offset;
	uint64_t overwritten;

	if (!copy->data)
		copy->data = malloc(held ? held : 1);
	if (!copy->data)
		return -ENOMEM;
	memcpy(copy->data, ring + offset, first);
	memcpy(copy->data + first, ring, held - first);

	/* A record that was being written when the ring was paused has overwritten the oldest ones:
	 * read data_head again, after the copy. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	overwritten = head - __atomic_load_n(&page->data_head, __ATOMIC_RELAXED);
	overwritten = overwritten < size ? overwritten : size;
	copy->size = held < size - overwritten ? held : size - overwritten;
	return 0;
}

int rings_reserve_copy(struct rings *rings)
{
	rings->spare = malloc(rings->size);
	if (!rings->spare)
		return -ENOMEM;
	memset(rings->spare, 0xff, rings->size);
	return 0;
}

int rings_copy_paused(struct rings *rings, struct ring_copy *copies)
{
	int err = 0;

	for (size_t i = 0; i < rings->nr_cpus && !err; i++) {
		const struct ring *ring = &rings->rings[i];

		copies[i].cpu = ring->cpu;
		if (!ring->evlist || !ring->paused)
			continue;
		copies[i].data = __atomic_exchange_n(&rings->spare, NULL, __ATOMIC_ACQ_REL);
		copies[i].spare = copies[i].data;
		err = ring_copy_records(&ring->evlist->mmap_ovw[0], rings->size, &copies[i]);
	}
	return err;
}

void rings_free_copy(struct rings *rings, struct ring_copy *copy)
{
	if (copy->spare)
		__atomic_store_n(&rings->spare, copy->data, __ATOMIC_RELEASE);
	else
		free(copy->data);
	*copy = (struct ring_copy){};
}

int rings_copy_running(const struct rings *rings, struct ring_copy *copies)
{
	for (size_t i = 0; i < rings->nr_cpus; i++) {
		const struct ring *ring = &rings->rings[i];
		int err;

		copies[i].cpu = ring->cpu;
		if (!ring->evlist || copies[i].data)
			continue;
		err = ring_copy_records(&ring->evlist->mmap_ovw[0], rings->size, &copies[i]);
		if (err)
			return err;
		if (copies[i].size > rings->size - WRITING_MAX)
			copies[i].size = rings->size - WRITING_MAX;
	}
	return 0;
}

void rings_free(struct rings *rings)
{
	if (!rings)
		return;
	for (size_t i = 0; i < rings->nr_cpus; i++) {
		ring_close_events(&rings->rings[i]);
		perf_cpu_map__put(rings->rings[i].cpus);
	}
	perf_thread_map__put(rings->threads);
	free(rings->spare);
	free(rings->ids);
	free(rings);
}

void rings_describe(const struct ring_event *events, size_t nr, struct json_object *list)
{
	for (size_t i = 0; i < nr; i++) {
		struct json_object *event;

		if (!events[i].opened)
			continue;
		event = json_object_new_object();
		json_add_text(event, "name", events[i].name);
		if (events[i].filter)
			json_add_text(event, "filter", events[i].filter);
		json_object_array_add(list, event);
	}
}
