// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Rings without the kernel: the system calls of libperf are replaced at link time, by descriptors
 * of /dev/null and anonymous memory. */
#include "recorder/recorder.h"

#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <perf/cpumap.h>
#include <perf/evlist.h>
#include <perf/evsel.h>

#include <internal/evlist.h>
#include <internal/evsel.h>
#include <internal/mmap.h>
#include <internal/xyarray.h>

#include "messages.h"
#include "test.h"

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
	int order[MANY]; /* CPUs, in the order of pausing or resuming */
	unsigned long argument;
	size_t nr_order;
	unsigned int filters;
	int fds[MANY];
	size_t nr_fds, most_open;
	uint64_t write_on_malloc; /* bytes */
	uint64_t last_id;
	int output_errno, output; /* of SET_OUTPUT */
} kernel;
static struct messages messages;
static const struct log log_of_test = { messages_add, &messages };

void *__real_malloc(size_t size);

static int index_of(int cpu)
{
	int i = 0;

	while (i < CPUS && cpus[i] != cpu)
		i++;
	assert_true(i < CPUS);
	return i;
}

/* perf_event_open() */
long __wrap_syscall(long number, ...)
{
	static const int errors[] = {
		[REFUSED] = EACCES, [NO_FILES] = EMFILE, [OFFLINE] = ENODEV, [BROKEN] = EINVAL
	};
	const struct perf_event_attr *attr;
	size_t nr_open = 0;
	va_list ap;
	int fd;

	assert_int_equal(number, SYS_perf_event_open);
	va_start(ap, number);
	attr = va_arg(ap, const struct perf_event_attr *);
	assert_int_equal(va_arg(ap, int), -1);
	index_of(va_arg(ap, int));
	assert_int_equal(va_arg(ap, int), -1);
	/* Close-on-exec from the start: a concurrent fork must not inherit it. */
	assert_int_equal(va_arg(ap, unsigned long), PERF_FLAG_FD_CLOEXEC);
	va_end(ap);
	if (attr->config != FINE) {
		errno = errors[attr->config];
		return -1;
	}
	fd = open("/dev/null", O_RDONLY);
	assert_true(fd >= 0 && kernel.nr_fds < MANY);
	kernel.fds[kernel.nr_fds++] = fd;
	for (size_t i = 0; i < kernel.nr_fds; i++)
		nr_open += fcntl(kernel.fds[i], F_GETFD) >= 0;
	kernel.most_open = nr_open > kernel.most_open ? nr_open : kernel.most_open;
	return fd;
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
	int i;

	errno = kernel.map_errno;
	if (errno)
		return -1;
	kernel.size = pages * sysconf(_SC_PAGESIZE);
	assert_non_null(evlist->threads);
	perf_evlist__for_each_evsel (evlist, evsel) {
		assert_int_equal(perf_cpu_map__nr(evsel->cpus), 1);
		assert_non_null(evsel->threads);
		assert_int_equal(perf_evsel__alloc_id(evsel, 1, 1), 0);
		evsel->id[0] = ++kernel.last_id;
	}
	evlist->mmap_ovw = calloc(1, sizeof(*evlist->mmap_ovw));
	evlist->nr_mmaps = 1;
	i = index_of(perf_cpu_map__cpu(evlist->all_cpus, 0).cpu);
	map_ring(&evlist->mmap_ovw[0], i);
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
	if (request == PERF_EVENT_IOC_ID) {
		*(uint64_t *)argument = ++kernel.last_id;
		return 0;
	}
	if (request == PERF_EVENT_IOC_SET_OUTPUT) {
		kernel.output = argument;
		errno = kernel.output_errno;
		return errno ? -1 : 0;
	}
	assert_int_equal(request, PERF_EVENT_IOC_SET_FILTER);
	assert_string_equal((const char *)argument, "prev_pid == 1");
	kernel.filters++;
	errno = kernel.filter_errno;
	return errno ? -1 : 0;
}

/* Adds a record like the kernel: downwards, and wrapping around. */
static void write_ring(int ring, const char *bytes, size_t len)
{
	char *base = (char *)kernel.pages[ring] + sysconf(_SC_PAGESIZE);
	uint64_t head = kernel.pages[ring]->data_head - len;

	for (size_t i = 0; i < len; i++)
		base[(head + i) & (kernel.size - 1)] = bytes[i];
	kernel.pages[ring]->data_head = head;
}

/* rings_copy_paused() reads the head, then allocates: here an unfinished record is completed in
 * between.
 */
void *__wrap_malloc(size_t size)
{
	static const char record[64] = "late";
	uint64_t len = kernel.write_on_malloc;

	kernel.write_on_malloc = 0;
	if (len)
		write_ring(0, record, len);
	return __real_malloc(size);
}

/* For tests with a single event. */
static struct ring_event event;
static struct rings *rings;
static struct ring_copy copies[CPUS];

static int forget(void **state)
{
	memset(&kernel, 0, sizeof(kernel));
	memset(&messages, 0, sizeof(messages));
	return 0;
}

static void open_rings(struct ring_event *events, size_t nr, size_t pages)
{
	assert_int_equal(rings_open(&rings, events, nr, cpus, CPUS, pages, &log_of_test), 0);
	assert_non_null(rings);
}

static int open_one(void **state)
{
	forget(state);
	event = (struct ring_event){ .attr.config = FINE, .name = "a:a" };
	open_rings(&event, 1, 2);
	return 0;
}

static void check_all_closed(void)
{
	for (size_t i = 0; i < kernel.nr_fds; i++)
		assert_int_equal(fcntl(kernel.fds[i], F_GETFD), -1);
}

static void free_copies(void)
{
	for (int i = 0; i < CPUS; i++)
		rings_free_copy(rings, &copies[i]);
}

static void copy_rings(void)
{
	free_copies();
	assert_int_equal(rings_pause(rings, -1, -1), 0);
	assert_int_equal(rings_copy_paused(rings, copies), 0);
	assert_int_equal(rings_resume(rings), 0);
	kernel.nr_order = 0;
}

static int close_all(void **state)
{
	free_copies();
	rings_free(rings);
	check_all_closed();
	return 0;
}

static void check_ids(const uint64_t *expected, size_t nr)
{
	size_t found;
	_cleanup_free_ uint64_t *ids = rings_ids(rings, &found);

	assert_non_null(ids);
	assert_int_equal(found, nr);
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(ids[i], expected[i]);
}

TEST_WITH(gives_ids, forget, close_all)
{
	static struct ring_event events[] = {
		{ .attr.config = FINE, .name = "a:a", .filter = "prev_pid == 1" },
		{ .attr.config = REFUSED, .name = "b:b", .optional = true },
		{ .attr.config = FINE, .name = "c:c", .optional = true },
		{ .attr.config = BROKEN, .name = "cycles", .optional = true },
	};

	open_rings(events, 4, 1);
	assert_true(events[0].opened);
	assert_false(events[1].opened);
	assert_true(events[2].opened);
	assert_false(events[3].opened);
	/* The events of a CPU are opened together. */
	check_ids((uint64_t[]){ 1, 3, 5, 2, 4, 6 }, 6);
	assert_int_equal(kernel.filters, CPUS);
	assert_int_equal(kernel.nr_fds, 2 * CPUS);
	assert_string_equal(messages.text, "event cycles: the kernel refuses to sample it");
	assert_int_equal(messages.level, PERF_POKE_LOG_DEBUG);
	rings_free(NULL);
}

static void check_open_fails_of(uint32_t type, uint64_t config, int error, const char *message)
{
	struct ring_event events[] = {
		{ .attr.config = FINE, .name = "a:a" },
		{ .attr.type = type,
		  .attr.config = config,
		  .name = "x:y",
		  .filter = "prev_pid == 1" },
	};
	struct rings *rings = NULL;

	assert_int_equal(rings_open(&rings, events, 2, cpus, CPUS, 2, &log_of_test), error);
	assert_null(rings);
	if (strncmp(messages.text, message, strlen(message)))
		fail_msg("'%s' is not '%s'", messages.text, message);
	assert_int_equal(messages.level, PERF_POKE_LOG_ERROR);
	assert_true(kernel.nr_fds >= 1);
	check_all_closed();
	forget(NULL);
}

static void check_open_fails(uint64_t config, int error, const char *message)
{
	check_open_fails_of(PERF_TYPE_TRACEPOINT, config, error, message);
}

TEST_WITH(open_can_fail, forget, NULL)
{
	check_open_fails(REFUSED, -EPERM,
			 "event x:y: permission denied: needs CAP_PERFMON, or CAP_SYS_ADMIN "
			 "where kernel.perf_event_paranoid is above 2");
	check_open_fails(NO_FILES, -EMFILE, "event x:y: too many open files (raise ulimit -n)");
	check_open_fails(OFFLINE, -ENODEV, "event x:y: a CPU went offline");
	check_open_fails(BROKEN, -EINVAL, "event x:y: cannot open: Invalid argument");
	check_open_fails_of(PERF_TYPE_SOFTWARE, BROKEN, -EINVAL, "event x:y: cannot open: ");
	check_open_fails_of(PERF_TYPE_HARDWARE, BROKEN, -ENOENT,
			    "event x:y: no PMU of this machine samples it (Invalid argument): use "
			    "cpu-clock");
	check_open_fails_of(PERF_TYPE_RAW, BROKEN, -ENOENT,
			    "event x:y: no PMU of this machine samples it (Invalid argument)");
	kernel.filter_errno = EINVAL;
	check_open_fails(FINE, -EINVAL,
			 "event x:y: the kernel rejects the filter 'prev_pid == 1': "
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

TEST_WITH(pauses_the_spikes_cpus, open_one, close_all)
{
	assert_int_equal(rings_pause(rings, 5, 5), 0);
	check_order("5 ");
	assert_int_equal(kernel.argument, 1);
	assert_int_equal(rings_resume(rings), 0);
	check_order("5 ");
	assert_int_equal(kernel.argument, 0);
	assert_int_equal(rings_resume(rings), 0);
	check_order("");
	assert_int_equal(rings_pause(rings, 5, 1), 0);
	check_order("1 5 ");
	assert_int_equal(rings_resume(rings), 0);
	check_order("1 5 ");
	assert_int_equal(rings_pause(rings, -1, 1), 0);
	check_order("1 2 5 ");
	/* A failure on one CPU does not prevent pausing the others. */
	kernel.pause_errno = ENODEV;
	assert_int_equal(rings_pause(rings, -1, -1), -ENODEV);
	check_order("1 2 5 ");
}

/* Records of equal size, each filled with its number. */
#define RECORD 48

static void write_records(int ring, unsigned int first, unsigned int last)
{
	char record[RECORD];

	for (unsigned int i = first; i <= last; i++) {
		memset(record, i, sizeof(record));
		write_ring(ring, record, sizeof(record));
	}
}

/* The copy has the records from `last` backwards. */
static void check_copy(const struct ring_copy *copy, int cpu, unsigned int last, size_t size)
{
	assert_int_equal(copy->cpu, cpu);
	assert_int_equal(copy->size, size);
	for (size_t i = 0; i < size; i++)
		assert_int_equal((unsigned char)copy->data[i], (unsigned char)(last - i / RECORD));
}

TEST_WITH(copies_newest_first, open_one, close_all)
{
	unsigned int fit = kernel.size / RECORD;

	/* A few; so many that the oldest are overwritten; none. */
	write_records(0, 1, 3);
	write_records(1, 1, 3 * fit + 5);
	copy_rings();
	check_copy(&copies[0], 1, 3, 3 * RECORD);
	check_copy(&copies[1], 2, 3 * fit + 5, kernel.size);
	check_copy(&copies[2], 5, 0, 0);
	assert_non_null(copies[2].data);

	/* Completely filled, by records that fit exactly. */
	for (size_t i = 0; i < kernel.size / 64; i++)
		write_ring(2, (char[64]){ 1, 2 }, 64);
	copy_rings();
	assert_int_equal(copies[2].size, kernel.size);
	assert_memory_equal(copies[2].data, "\1\2\0", 3);
	assert_memory_equal(copies[2].data + kernel.size - 64, "\1\2\0", 3);
}

TEST_WITH(leaves_out_what_was_overwritten, open_one, close_all)
{
	unsigned int fit = kernel.size / RECORD;

	/* There is still room: nothing is overwritten. */
	write_records(0, 1, 3);
	kernel.write_on_malloc = 40;
	copy_rings();
	assert_int_equal(kernel.write_on_malloc, 0);
	check_copy(&copies[0], 1, 3, 3 * RECORD);
	kernel.pages[0]->data_head += 40;

	/* There is room for a part of it. */
	write_records(0, 4, fit);
	kernel.write_on_malloc = kernel.size % RECORD + 24;
	copy_rings();
	check_copy(&copies[0], 1, fit, fit * RECORD - 24);

	/* The ring is full. */
	write_records(0, fit + 1, 2 * fit + 2);
	kernel.write_on_malloc = 40;
	copy_rings();
	check_copy(&copies[0], 1, 2 * fit + 2, kernel.size - 40);
}

TEST_WITH(opens_again, forget, close_all)
{
	static struct ring_event events[] = {
		{ .attr.config = FINE, .name = "a:a", .filter = "prev_pid == 1" },
		{ .attr.config = FINE, .name = "c:c" },
	};

	open_rings(events, 2, 1);
	write_records(0, 1, 3);
	write_records(1, 1, 3);
	kernel.filters = 0;
	assert_int_equal(rings_reopen_cpu(rings, 2), 0);
	/* No tracepoint is without an event meanwhile. */
	assert_int_equal(kernel.most_open, 2 * CPUS + 2);
	assert_int_equal(kernel.filters, 1);
	check_ids((uint64_t[]){ 1, 7, 5, 2, 8, 6 }, 6);
	/* Its records are gone; those of the others are not. */
	copy_rings();
	check_copy(&copies[0], 1, 3, 3 * RECORD);
	check_copy(&copies[1], 2, 0, 0);
	write_records(1, 4, 5);
	copy_rings();
	check_copy(&copies[1], 2, 5, 2 * RECORD);
	/* A CPU without a ring. */
	assert_int_equal(rings_reopen_cpu(rings, 4), 0);
	assert_int_equal(rings_join_cpu(rings, 4), 0);
	check_ids((uint64_t[]){ 1, 7, 5, 2, 8, 6 }, 6);
}

/* What is paused is copied before the rest, which goes on. */
TEST_WITH(copies_the_rest_later, forget, close_all)
{
	event = (struct ring_event){ .attr.config = FINE, .name = "a:a" };
	open_rings(&event, 1, 4);
	write_records(0, 1, 1);
	write_records(1, 1, 2);
	assert_int_equal(rings_pause(rings, 2, 2), 0);
	assert_int_equal(rings_copy_paused(rings, copies), 0);
	assert_int_equal(rings_resume(rings), 0);
	assert_null(copies[0].data);
	check_copy(&copies[1], 2, 2, 2 * RECORD);
	write_records(0, 2, 2);
	write_records(1, 3, 3);
	assert_int_equal(rings_copy_running(rings, copies), 0);
	check_copy(&copies[0], 1, 2, 2 * RECORD);
	check_copy(&copies[1], 2, 2, 2 * RECORD);
}

TEST_WITH(reuses_memory, open_one, close_all)
{
	const char *reserved;

	assert_int_equal(rings_reserve_copy(rings), 0);
	write_records(0, 1, 1);
	copy_rings();
	reserved = copies[0].data;
	assert_true(copies[0].spare);
	/* A second ring, or a copy that is not free yet, has its own. */
	assert_false(copies[1].spare);
	copy_rings();
	assert_ptr_equal(copies[0].data, reserved);
	check_copy(&copies[0], 1, 1, RECORD);
}

TEST_WITH(goes_on_without_what_cannot_be_opened_again, open_one, close_all)
{
	event.optional = true;

	write_records(0, 1, 3);
	event.attr.config = REFUSED;
	assert_int_equal(rings_reopen_cpu(rings, 1), -EPERM);
	assert_true(event.opened);
	assert_int_equal(rings_pause(rings, -1, -1), 0);
	check_order("2 5 ");
	assert_int_equal(rings_resume(rings), 0);
	check_order("2 5 ");
	copy_rings();
	assert_int_equal(copies[0].cpu, 1);
	assert_int_equal(copies[0].size, 0);
	/* The next try prints no message either. */
	event.attr.config = FINE;
	kernel.map_errno = EPERM;
	assert_int_equal(rings_reopen_cpu(rings, 1), -EPERM);
	assert_int_equal(messages.nr, 0);
	kernel.map_errno = 0;
	assert_int_equal(rings_reopen_cpu(rings, 1), 0);
	assert_int_equal(rings_pause(rings, -1, -1), 0);
	check_order("1 2 5 ");
}

TEST_WITH(joins_the_ring_there_was, open_one, close_all)
{
	write_records(1, 1, 3);
	assert_int_equal(rings_join_cpu(rings, 2), 0);
	assert_int_equal(kernel.output, RING_FD + 1);
	check_ids((uint64_t[]){ 1, 4, 3, 2 }, 4);
	assert_int_equal(rings_join_cpu(rings, 2), 0);
	check_ids((uint64_t[]){ 1, 5, 3, 2, 4 }, 5);
	copy_rings();
	check_copy(&copies[1], 2, 3, 3 * RECORD);
	kernel.output_errno = EINVAL;
	assert_int_equal(rings_join_cpu(rings, 2), -EINVAL);
	check_ids((uint64_t[]){ 1, 5, 3, 2, 4 }, 5);
}
