// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Rings without the kernel: what of libperf asks it for events and mappings is replaced at link
 * time, with descriptors of /dev/null and anonymous memory. */
#include "rings.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <perf/cpumap.h>
#include <perf/evlist.h>
#include <perf/evsel.h>

#include <internal/evlist.h>
#include <internal/evsel.h>
#include <internal/mmap.h>
#include <internal/xyarray.h>

#include <cmocka.h>

#include "messages.h"

#define CPUS 3
#define RING_FD 5000 /* of the ring of the first CPU; not a real descriptor */
#define MANY 64

static const int cpus[CPUS] = { 1, 2, 5 };

/* An event's attr.config, and how opening it fails. */
enum { FINE = 1, REFUSED = 2, NO_FILES = 3, OFFLINE = 4, BROKEN = 5 };

static struct {
	struct perf_event_mmap_page *pages[CPUS];
	size_t size; /* of a ring */
	int map_errno, filter_errno;
	int pause_errno; /* of the second CPU */
	int order[MANY]; /* CPUs, as they are paused or resumed */
	unsigned long argument;
	size_t nr_order;
	unsigned int filters;
	int fds[MANY];
	size_t nr_fds;
	uint64_t write_on_malloc; /* bytes */
} kernel;
static struct messages messages;
static const struct log log_of_test = { messages_add, &messages };

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
int __wrap_perf_evsel__open(struct perf_evsel *evsel, struct perf_cpu_map *on,
			    struct perf_thread_map *threads);
int __wrap_perf_evlist__mmap(struct perf_evlist *evlist, int pages);
int __wrap_ioctl(int fd, unsigned long request, ...);

int __wrap_perf_evsel__open(struct perf_evsel *evsel, struct perf_cpu_map *on,
			    struct perf_thread_map *threads)
{
	static const int errors[] = {
		[REFUSED] = -EACCES, [NO_FILES] = -EMFILE, [OFFLINE] = -ENODEV, [BROKEN] = -EINVAL
	};

	assert_non_null(threads);
	assert_int_equal(perf_cpu_map__nr(on), CPUS);
	if (evsel->attr.config != FINE)
		return errors[evsel->attr.config];
	assert_int_equal(perf_evsel__alloc_fd(evsel, CPUS, 1), 0);
	for (int i = 0; i < CPUS; i++) {
		int fd = open("/dev/null", O_RDONLY);

		assert_true(fd >= 0 && kernel.nr_fds < MANY);
		*(int *)xyarray__entry(evsel->fd, i, 0) = fd;
		kernel.fds[kernel.nr_fds++] = fd;
	}
	return 0;
}

static void map_ring(struct perf_mmap *map, int i)
{
	size_t page = sysconf(_SC_PAGESIZE);

	map->base = mmap(NULL, page + kernel.size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(map->base, MAP_FAILED);
	map->mask = kernel.size - 1;
	map->fd = RING_FD + i;
	map->cpu.cpu = cpus[i];
	kernel.pages[i] = map->base;
}

int __wrap_perf_evlist__mmap(struct perf_evlist *evlist, int pages)
{
	struct perf_evsel *evsel;
	uint64_t id = 100;

	errno = kernel.map_errno;
	if (errno)
		return -1;
	kernel.size = pages * sysconf(_SC_PAGESIZE);
	perf_evlist__for_each_evsel (evlist, evsel) {
		assert_int_equal(perf_evsel__alloc_id(evsel, CPUS, 1), 0);
		for (int i = 0; i < CPUS; i++)
			evsel->id[i] = id++;
	}
	evlist->mmap_ovw = calloc(CPUS, sizeof(*evlist->mmap_ovw));
	assert_non_null(evlist->mmap_ovw);
	evlist->nr_mmaps = CPUS;
	for (int i = 0; i < CPUS; i++)
		map_ring(&evlist->mmap_ovw[i], i);
	return 0;
}

static int pause_ring(int cpu, unsigned long argument)
{
	assert_true(kernel.nr_order < MANY);
	kernel.order[kernel.nr_order++] = cpus[cpu];
	kernel.argument = argument;
	errno = cpu == 1 ? kernel.pause_errno : 0;
	return errno ? -1 : 0;
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	unsigned long argument;
	va_list ap;

	va_start(ap, request);
	argument = va_arg(ap, unsigned long);
	va_end(ap);
	if (request == PERF_EVENT_IOC_PAUSE_OUTPUT)
		return pause_ring(fd - RING_FD, argument);
	assert_int_equal(request, PERF_EVENT_IOC_SET_FILTER);
	assert_string_equal((const char *)argument, "prev_pid == 1");
	kernel.filters++;
	errno = kernel.filter_errno;
	return errno ? -1 : 0;
}

/* A record at the newest end, as the kernel lays it: downwards, and around the end. */
static void write_ring(int ring, const char *bytes, size_t len)
{
	char *base = (char *)kernel.pages[ring] + sysconf(_SC_PAGESIZE);
	uint64_t head = kernel.pages[ring]->data_head - len;

	for (size_t i = 0; i < len; i++)
		base[(head + i) & (kernel.size - 1)] = bytes[i];
	kernel.pages[ring]->data_head = head;
}

/* rings_copy() allocates after it has looked where the ring begins: here a record that was in the
 * making comes to its end. */
void *__wrap_malloc(size_t size)
{
	static const char record[64] = "late";
	uint64_t len = kernel.write_on_malloc;

	kernel.write_on_malloc = 0;
	if (len)
		write_ring(0, record, len);
	return __real_malloc(size);
}

static int forget(void **state)
{
	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	memset(&messages, 0, sizeof(messages));
	return 0;
}

static struct rings *open_rings(struct ring_event *events, size_t nr, size_t pages)
{
	struct rings *rings = NULL;

	assert_int_equal(rings_open(&rings, events, nr, cpus, CPUS, pages, &log_of_test), 0);
	assert_non_null(rings);
	return rings;
}

static void check_all_closed(void)
{
	for (size_t i = 0; i < kernel.nr_fds; i++)
		assert_int_equal(fcntl(kernel.fds[i], F_GETFD), -1);
}

static void gives_ids(void **state)
{
	struct ring_event events[] = {
		{ .attr.config = FINE, .name = "a:a", .filter = "prev_pid == 1" },
		{ .attr.config = REFUSED, .name = "b:b", .optional = true },
		{ .attr.config = FINE, .name = "c:c", .optional = true },
	};
	struct rings *rings = open_rings(events, 3, 1);

	(void)state;
	assert_true(events[0].opened);
	assert_false(events[1].opened);
	assert_null(events[1].ids);
	assert_true(events[2].opened);
	for (int i = 0; i < CPUS; i++) {
		assert_int_equal(events[0].ids[i], 100 + i);
		assert_int_equal(events[2].ids[i], 100 + CPUS + i);
	}
	assert_int_equal(kernel.filters, CPUS);
	assert_int_equal(kernel.nr_fds, 2 * CPUS);
	for (size_t i = 0; i < kernel.nr_fds; i++)
		assert_int_equal(fcntl(kernel.fds[i], F_GETFD), FD_CLOEXEC);
	assert_string_equal(messages.text, "event b:b: the kernel refuses to sample it");
	assert_int_equal(messages.level, PERF_POKE_LOG_DEBUG);
	rings_free(rings);
	check_all_closed();
	rings_free(NULL);
}

static void check_open_fails(uint64_t config, int error, const char *message)
{
	struct ring_event events[] = {
		{ .attr.config = FINE, .name = "a:a" },
		{ .attr.config = config, .name = "x:y", .filter = "prev_pid == 1" },
	};
	struct rings *rings = NULL;

	assert_int_equal(rings_open(&rings, events, 2, cpus, CPUS, 2, &log_of_test), error);
	assert_null(rings);
	if (strncmp(messages.text, message, strlen(message)))
		fail_msg("'%s' is not '%s'", messages.text, message);
	assert_int_equal(messages.level, PERF_POKE_LOG_ERROR);
	assert_true(kernel.nr_fds >= CPUS);
	check_all_closed();
	forget(NULL);
}

static void open_can_fail(void **state)
{
	(void)state;
	check_open_fails(REFUSED, -EPERM, "event x:y: the kernel refuses: needs CAP_PERFMON");
	check_open_fails(NO_FILES, -EMFILE, "event x:y: too many open files (raise ulimit -n)");
	check_open_fails(OFFLINE, -ENODEV, "event x:y: a CPU went offline");
	check_open_fails(BROKEN, -EINVAL, "event x:y: cannot open: Invalid argument");
	kernel.filter_errno = EINVAL;
	check_open_fails(FINE, -EINVAL,
			 "event x:y: the kernel does not take the filter 'prev_pid == 1': "
			 "Invalid argument");
	kernel.map_errno = EPERM;
	check_open_fails(FINE, -EPERM, "rings of ");
	kernel.map_errno = ENOMEM;
	check_open_fails(FINE, -ENOMEM, "cannot map rings of ");
}

static void check_order(const char *expected)
{
	char order[MANY * 4] = "";

	for (size_t i = 0; i < kernel.nr_order; i++)
		snprintf(order + strlen(order), sizeof(order) - strlen(order), "%d ",
			 kernel.order[i]);
	assert_string_equal(order, expected);
	kernel.nr_order = 0;
}

static void pauses_the_spikes_cpu_first(void **state)
{
	struct ring_event event = { .attr.config = FINE, .name = "a:a" };
	struct rings *rings = open_rings(&event, 1, 1);

	(void)state;
	assert_int_equal(rings_pause(rings, 5), 0);
	check_order("5 1 2 ");
	assert_int_equal(kernel.argument, 1);
	assert_int_equal(rings_resume(rings), 0);
	check_order("1 2 5 ");
	assert_int_equal(kernel.argument, 0);
	assert_int_equal(rings_pause(rings, -1), 0);
	check_order("1 2 5 ");
	/* A CPU that fails does not keep the others running. */
	kernel.pause_errno = ENODEV;
	assert_int_equal(rings_pause(rings, 2), -ENODEV);
	check_order("2 1 5 ");
	rings_free(rings);
}

/* Records of one size, each full of its number. */
#define RECORD 48

static void write_records(int ring, unsigned int first, unsigned int last)
{
	char record[RECORD];

	for (unsigned int i = first; i <= last; i++) {
		memset(record, i, sizeof(record));
		write_ring(ring, record, sizeof(record));
	}
}

/* The copy has from the record `last` backwards as much as there is. */
static void check_copy(const struct ring_copy *copy, int cpu, unsigned int last, size_t size)
{
	assert_int_equal(copy->cpu, cpu);
	assert_int_equal(copy->size, size);
	for (size_t i = 0; i < size; i++)
		assert_int_equal((unsigned char)copy->data[i], (unsigned char)(last - i / RECORD));
}

static void free_copies(struct ring_copy *copies)
{
	for (int i = 0; i < CPUS; i++)
		free(copies[i].data);
	memset(copies, 0, CPUS * sizeof(*copies));
}

static void copies_newest_first(void **state)
{
	struct ring_event event = { .attr.config = FINE, .name = "a:a" };
	struct rings *rings = open_rings(&event, 1, 2);
	struct ring_copy copies[CPUS] = {};
	unsigned int fit = kernel.size / RECORD;

	(void)state;
	/* A few; so many that the oldest are overwritten; none. */
	write_records(0, 1, 3);
	write_records(1, 1, 3 * fit + 5);
	assert_int_equal(rings_copy(rings, copies), 0);
	check_copy(&copies[0], 1, 3, 3 * RECORD);
	check_copy(&copies[1], 2, 3 * fit + 5, kernel.size);
	check_copy(&copies[2], 5, 0, 0);
	assert_non_null(copies[2].data);
	free_copies(copies);

	/* To the brim: by records that fit exactly. */
	for (size_t i = 0; i < kernel.size / 64; i++)
		write_ring(2, (char[64]){ 1, 2 }, 64);
	assert_int_equal(rings_copy(rings, copies), 0);
	assert_int_equal(copies[2].size, kernel.size);
	assert_memory_equal(copies[2].data, "\1\2\0", 3);
	assert_memory_equal(copies[2].data + kernel.size - 64, "\1\2\0", 3);
	free_copies(copies);
	rings_free(rings);
}

static void leaves_out_what_was_overwritten(void **state)
{
	struct ring_event event = { .attr.config = FINE, .name = "a:a" };
	struct rings *rings = open_rings(&event, 1, 1);
	struct ring_copy copies[CPUS] = {};
	unsigned int fit = kernel.size / RECORD;

	(void)state;
	/* There is still room: nothing is overwritten. */
	write_records(0, 1, 3);
	kernel.write_on_malloc = 40;
	assert_int_equal(rings_copy(rings, copies), 0);
	assert_int_equal(kernel.write_on_malloc, 0);
	check_copy(&copies[0], 1, 3, 3 * RECORD);
	free_copies(copies);
	kernel.pages[0]->data_head += 40;

	/* There is room for a part of it. */
	write_records(0, 4, fit);
	kernel.write_on_malloc = kernel.size % RECORD + 24;
	assert_int_equal(rings_copy(rings, copies), 0);
	check_copy(&copies[0], 1, fit, fit * RECORD - 24);
	free_copies(copies);

	/* The ring is full. */
	write_records(0, fit + 1, 2 * fit + 2);
	kernel.write_on_malloc = 40;
	assert_int_equal(rings_copy(rings, copies), 0);
	check_copy(&copies[0], 1, 2 * fit + 2, kernel.size - 40);
	free_copies(copies);
	rings_free(rings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(gives_ids, forget),
		cmocka_unit_test_setup(open_can_fail, forget),
		cmocka_unit_test_setup(pauses_the_spikes_cpu_first, forget),
		cmocka_unit_test_setup(copies_newest_first, forget),
		cmocka_unit_test_setup(leaves_out_what_was_overwritten, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
