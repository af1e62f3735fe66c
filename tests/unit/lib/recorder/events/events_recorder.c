// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The recorder without the kernel: tracefs is a folder, and link-time replacements of rings.h hold
 * the test's records. */
#include "recorder/recorder.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <json-c/json.h>

#include "cpulist.h"
#include "helpers.h"
#include "machine/base.h"
#include "messages.h"

#define FINISHED_ROUND 68 /* PERF_RECORD_FINISHED_ROUND of perf */
#define SAMPLE_TIME 21	  /* HEADER_SAMPLE_TIME of perf */
#define OUR_TID 0x7ffffff0
#define RING_SIZE 4096

static const int cpus[] = { 1, 2, 5 };

static struct {
	struct ring_event *events;
	size_t nr, pages;
	const char *refused; /* an event that the kernel does not sample */
	int open_error, copy_error;
	int paused, paused_other; /* CPUs; -2: none */
	bool resumed, freed;
	int reopened, reopen_error;
	char data[ARRAY_SIZE(cpus)][RING_SIZE];
	size_t size[ARRAY_SIZE(cpus)];
} kernel;
/* The rings of task names: empty but for a renamed task on the first CPU. */
static struct {
	struct ring_event *event;
	size_t nr_cpus;
	int joined;
	bool freed;
} side;
static uint64_t first_id; /* of the first event */
static int tracefs_dir;
static struct messages messages;
static const struct log log_of_test = { messages_add, &messages };

int __wrap_tracefs_open(void)
{
	return tracefs_dir < 0 ? tracefs_dir : fcntl(tracefs_dir, F_DUPFD_CLOEXEC, 0);
}

static int open_side(struct rings **ret, struct ring_event *event, size_t nr_cpus)
{
	side.event = event;
	side.nr_cpus = nr_cpus;
	event->opened = true;
	*ret = (struct rings *)&side;
	return 0;
}

int __wrap_rings_open(struct rings **ret, struct ring_event *events, size_t nr, const int *on,
		      size_t nr_cpus, size_t pages, const struct log *log)
{
	assert_ptr_equal(log, &log_of_test);
	if (events->attr.type == PERF_TYPE_SOFTWARE) {
		assert_int_equal(nr, 1);
		return open_side(ret, events, nr_cpus);
	}
	assert_int_equal(nr_cpus, ARRAY_SIZE(cpus));
	assert_memory_equal(on, cpus, sizeof(cpus));
	kernel.events = events;
	kernel.nr = nr;
	kernel.pages = pages;
	if (kernel.open_error)
		return kernel.open_error;
	for (size_t i = 0; i < nr; i++) {
		if (kernel.refused && !strcmp(events[i].name, kernel.refused))
			continue;
		events[i].opened = true;
	}
	*ret = (struct rings *)&kernel;
	return 0;
}

int __wrap_rings_pause(struct rings *rings, int cpu, int other)
{
	assert_ptr_equal(rings, &kernel);
	kernel.paused = cpu;
	kernel.paused_other = other;
	return -EBADF;
}

int __wrap_rings_resume(struct rings *rings)
{
	assert_ptr_equal(rings, &kernel);
	kernel.resumed = true;
	return -ENOTTY;
}

int __wrap_rings_reopen_cpu(struct rings *rings, int cpu)
{
	assert_ptr_equal(rings, &kernel);
	kernel.reopened = cpu;
	first_id += 100;
	return kernel.reopen_error;
}

int __wrap_rings_join_cpu(struct rings *rings, int cpu)
{
	assert_ptr_equal(rings, &side);
	side.joined = cpu;
	return 0;
}

uint64_t *__wrap_rings_ids(const struct rings *rings, size_t *nr)
{
	bool of_side = rings == (const struct rings *)&side;
	size_t opened = 0;
	uint64_t *ids;

	for (size_t i = 0; !of_side && i < kernel.nr; i++)
		opened += kernel.events[i].opened;
	*nr = of_side ? side.nr_cpus : opened * ARRAY_SIZE(cpus);
	ids = calloc(*nr, sizeof(*ids));
	for (size_t i = 0; i < *nr; i++)
		ids[i] = of_side ? 1000 + i : first_id + i;
	return ids;
}

struct sample_id {
	uint32_t pid, tid;
	uint64_t time_ns;
	uint32_t cpu, reserved;
	uint64_t id;
};

struct comm {
	struct perf_event_header header;
	uint32_t pid, tid;
	char comm[8];
	struct sample_id sample_id;
};

static int copy_side(struct ring_copy *copies)
{
	const struct comm comm = { { PERF_RECORD_COMM, 0, sizeof(comm) },
				   OUR_TID,
				   OUR_TID,
				   "side",
				   { OUR_TID, OUR_TID, 100, 0, 0, 1 } };

	for (size_t i = 0; i < side.nr_cpus; i++)
		copies[i] = (struct ring_copy){ .cpu = i };
	copies[0].size = sizeof(comm);
	copies[0].data = malloc(sizeof(comm));
	memcpy(copies[0].data, &comm, sizeof(comm));
	return 0;
}

int __wrap_rings_reserve_copy(struct rings *rings)
{
	assert_ptr_equal(rings, &kernel);
	return 0;
}

void __wrap_rings_free_copy(struct rings *rings, struct ring_copy *copy)
{
	assert_ptr_equal(rings, &kernel);
	free(copy->data);
}

int __wrap_rings_copy_paused(struct rings *rings, struct ring_copy *copies)
{
	assert_ptr_equal(rings, &kernel);
	for (size_t i = 0; i < ARRAY_SIZE(cpus); i++) {
		copies[i].cpu = cpus[i];
		copies[i].size = kernel.size[i];
		copies[i].data = malloc(RING_SIZE);
		memcpy(copies[i].data, kernel.data[i], RING_SIZE);
		if (kernel.copy_error)
			return kernel.copy_error;
	}
	return 0;
}

int __wrap_rings_copy_running(const struct rings *rings, struct ring_copy *copies)
{
	if (rings == (const struct rings *)&kernel)
		return 0;
	assert_ptr_equal(rings, &side);
	return copy_side(copies);
}

void __wrap_rings_free(struct rings *rings)
{
	if (rings == (struct rings *)&side) {
		side.freed = true;
		return;
	}
	assert_true(!rings || rings == (struct rings *)&kernel);
	kernel.freed = rings;
}

static int make_tracefs(void **state)
{
	const struct folder *folder;

	if (make_folder(state))
		return -1;
	folder = *state;
	put_file(folder->fd, "events/header_page", "page\n");
	put_file(folder->fd, "events/header_event", "event\n");
	put_file(folder->fd, "events/sched/sched_switch/id", "10\n");
	put_file(folder->fd, "events/sched/sched_switch/format", "name: sched_switch\n");
	put_file(folder->fd, "events/sched/sched_wakeup/id", "11\n");
	put_file(folder->fd, "events/sched/sched_wakeup/format", "name: sched_wakeup\n");
	memset(&kernel, 0, sizeof(kernel));
	memset(&side, 0, sizeof(side));
	memset(&messages, 0, sizeof(messages));
	kernel.paused = -2;
	tracefs_dir = folder->fd;
	return 0;
}

static struct recorder *open_recorder(const struct perf_poke_event *events, size_t nr,
				      uint64_t buffer_size)
{
	const struct perf_poke_opts opts = { .events = events,
					     .nr_events = nr,
					     .buffer_size = buffer_size };
	const struct recorder_config config = { .opts = &opts,
						.cpus = cpus,
						.nr_cpus = ARRAY_SIZE(cpus) };
	struct recorder *recorder = NULL;

	assert_int_equal(events_recorder.open(&recorder, &config, &log_of_test), 0);
	assert_ptr_equal(recorder->ops, &events_recorder);
	return recorder;
}

static void check_attr(const struct perf_event_attr *attr)
{
	assert_true(attr->sample_id_all);
	assert_true(attr->write_backward);
	assert_true(attr->use_clockid);
	assert_int_equal(attr->clockid, CLOCK_MONOTONIC);
}

TEST_WITH(asks_for_events, make_tracefs, remove_folder)
{
	const struct perf_poke_event events[] = { { "sched:sched_switch", "prev_pid == 1" } };
	struct recorder *recorder = open_recorder(events, 1, 0);

	assert_int_equal(kernel.pages * sysconf(_SC_PAGESIZE), 4 << 20);
	assert_int_equal(kernel.nr, 1);
	assert_string_equal(kernel.events[0].name, "sched:sched_switch");
	assert_string_equal(kernel.events[0].filter, "prev_pid == 1");
	assert_false(kernel.events[0].optional);
	assert_int_equal(kernel.events[0].attr.type, PERF_TYPE_TRACEPOINT);
	assert_int_equal(kernel.events[0].attr.config, 10);
	/* Where tasks give up the CPU, and in which system call. */
	assert_int_equal(kernel.events[0].attr.sample_regs_user, RECORDS_USER_REGS);
	assert_true(kernel.events[0].attr.sample_type & PERF_SAMPLE_CALLCHAIN);
	assert_false(kernel.events[0].attr.exclude_callchain_user);
	assert_in_range(kernel.events[0].attr.sample_max_stack, 1, 32);
	check_attr(&kernel.events[0].attr);
	/* One more on each CPU for task names. */
	assert_int_equal(side.nr_cpus, sysconf(_SC_NPROCESSORS_ONLN));
	assert_int_equal(side.event->attr.config, PERF_COUNT_SW_DUMMY);
	assert_true(side.event->attr.comm);
	assert_true(side.event->attr.task);
	assert_false(side.event->optional);
	assert_int_equal(side.event->attr.sample_type,
			 kernel.events[0].attr.sample_type &
				 ~(PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER));
	assert_false(side.event->attr.mmap);
	check_attr(&side.event->attr);
	recorder->ops->free(recorder);
	assert_true(kernel.freed);
	assert_true(side.freed);
}

TEST_WITH(rounds_the_buffer_up, make_tracefs, remove_folder)
{
	const long page = sysconf(_SC_PAGESIZE);
	const struct {
		uint64_t size, pages;
	} rows[] = { { 1, 1 }, { page, 1 }, { page + 1, 2 }, { 5 * page, 8 }, { 64 * page, 64 } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct recorder *recorder = open_recorder(NULL, 0, rows[i].size);

		assert_int_equal(kernel.pages, rows[i].pages);
		recorder->ops->free(recorder);
	}
}

static void check_open_fails(int error, const char *message)
{
	const struct perf_poke_opts opts = {};
	const struct recorder_config config = { .opts = &opts,
						.cpus = cpus,
						.nr_cpus = ARRAY_SIZE(cpus) };
	struct recorder *recorder = NULL;

	memset(&messages, 0, sizeof(messages));
	assert_int_equal(events_recorder.open(&recorder, &config, &log_of_test), error);
	assert_null(recorder);
	assert_non_null(strstr(messages.text, message));
}

TEST_WITH(open_can_fail, make_tracefs, remove_folder)
{
	kernel.open_error = -EPERM;
	check_open_fails(-EPERM, ": this kernel has none");
	assert_int_equal(messages.level, PERF_POKE_LOG_DEBUG);
	assert_int_equal(unlinkat(folder->fd, "events/sched/sched_switch/format", 0), 0);
	check_open_fails(-ENOENT,
			 "cannot read the formats of the events: No such file or directory");
	tracefs_dir = -ENODEV;
	check_open_fails(-ENODEV, "no tracefs: mount -t tracefs tracefs /sys/kernel/tracing "
				  "(No such device)");
}

TEST_WITH(describes_itself, make_tracefs, remove_folder)
{
	const struct perf_poke_event events[] = { { "sched:sched_switch", "prev_pid == 1" },
						  { "sched:*", NULL } };
	struct json_object *json = json_object_new_object();
	struct recorder *recorder;

	kernel.refused = "sched:sched_wakeup";
	recorder = open_recorder(events, 1, 65536);
	recorder->ops->describe(recorder, json);
	assert_string_equal(json_object_to_json_string_ext(json, 0),
			    "{\"buffer_size\":65536,\"events\":[{\"name\":\"sched:sched_switch\","
			    "\"filter\":\"prev_pid == 1\"}]}");
	recorder->ops->free(recorder);
	json_object_put(json);

	/* Events that the kernel refuses are not recorded. */
	json = json_object_new_object();
	recorder = open_recorder(events + 1, 1, 65536);
	recorder->ops->describe(recorder, json);
	assert_string_equal(
		json_object_to_json_string_ext(json, 0),
		"{\"buffer_size\":65536,\"events\":[{\"name\":\"sched:sched_switch\"}]}");
	recorder->ops->free(recorder);
	json_object_put(json);
}

TEST_WITH(passes_on, make_tracefs, remove_folder)
{
	const struct perf_poke_spike spike = { .cpu = 5, .ran_cpu = 6 };
	struct recorder *recorder = open_recorder(NULL, 0, 0);
	struct snapshot *snapshot = NULL;

	assert_int_equal(recorder->ops->freeze(recorder, &spike), -EBADF);
	assert_int_equal(kernel.paused, 5);
	assert_int_equal(kernel.paused_other, 6);
	assert_int_equal(recorder->ops->resume(recorder), -ENOTTY);
	assert_true(kernel.resumed);
	kernel.copy_error = -ENOMEM;
	assert_int_equal(recorder->ops->copy(recorder, &snapshot), -ENOMEM);
	assert_null(snapshot);
	recorder->ops->snapshot_free(NULL);
	recorder->ops->free(recorder);
}

/* A ring is filled in the order of reading: newest record first. */
static void put(size_t ring, const void *bytes, size_t len)
{
	assert_true(kernel.size[ring] + len <= RING_SIZE);
	memcpy(kernel.data[ring] + kernel.size[ring], bytes, len);
	kernel.size[ring] += len;
}

static void put_sample(size_t ring, uint64_t time_ns)
{
	const struct {
		struct perf_event_header header;
		uint64_t id, ip;
		uint32_t pid, tid;
		uint64_t time_ns;
		uint32_t cpu, reserved, raw_size;
		char raw[4];
	} record = { { PERF_RECORD_SAMPLE, 0, sizeof(record) },
		     1,
		     2,
		     OUR_TID,
		     OUR_TID,
		     time_ns,
		     cpus[ring],
		     0,
		     4,
		     "raw" };

	put(ring, &record, sizeof(record));
}

static void put_lost(size_t ring, uint64_t time_ns, uint64_t lost)
{
	const struct {
		struct perf_event_header header;
		uint64_t id, lost;
		struct sample_id sample_id;
	} record = { { PERF_RECORD_LOST, 0, sizeof(record) },
		     1,
		     lost,
		     { OUR_TID, OUR_TID, time_ns, cpus[ring], 0, 1 } };

	put(ring, &record, sizeof(record));
}

static void put_comm(size_t ring, uint64_t time_ns)
{
	const struct comm record = { { PERF_RECORD_COMM, 0, sizeof(record) },
				     OUR_TID,
				     OUR_TID,
				     "name",
				     { OUR_TID, OUR_TID, time_ns, cpus[ring], 0, 1 } };

	put(ring, &record, sizeof(record));
}

static void fill_rings(void)
{
	struct perf_event_header torn = { PERF_RECORD_SAMPLE, 0, 64 };

	put_sample(0, 500);
	put_lost(0, 400, 7);
	put_sample(0, 300);
	/* The end of the oldest record is overwritten. */
	put(0, &torn, sizeof(torn));
	put(0, "rest of a sample", 16);
	put_sample(1, 450);
	put_comm(1, 200);
}

/* Time, type and size of each record from a ring, in file order. */
static void list_records(int dirfd, char *list, size_t size)
{
	struct bytes file = load_file(dirfd, "perf.data/data"), header = slice(file, 40, 16);
	uint64_t offset = take_u64(&header);
	struct bytes data = slice(file, offset, take_u64(&header));
	FILE *text = fmemopen(list, size, "w");

	assert_non_null(text);
	while (data.len) {
		struct perf_event_header head;
		struct bytes record;
		uint64_t time_ns;

		memcpy(&head, slice(data, 0, sizeof(head)).at, sizeof(head));
		record = take(&data, head.size);
		if (head.type == FINISHED_ROUND)
			fprintf(text, "round ");
		offset = head.type == PERF_RECORD_SAMPLE ? 24 : head.size - 32;
		if (head.size < 40 || *(const uint32_t *)(record.at + offset) != OUR_TID)
			continue;
		memcpy(&time_ns, record.at + offset + 8, sizeof(time_ns));
		fprintf(text, "%lu:%u:%u ", (unsigned long)time_ns, head.type, head.size);
	}
	fclose(text);
}

static struct snapshot_facts write_snapshot(struct recorder *recorder, int dirfd, int spike_cpu)
{
	const struct perf_poke_spike spike = { .cpu = spike_cpu };
	struct snapshot_facts facts = {};
	struct snapshot *snapshot = NULL;

	assert_int_equal(recorder->ops->copy(recorder, &snapshot), 0);
	assert_int_equal(recorder->ops->copy_rest(recorder, snapshot), 0);
	assert_int_equal(recorder->ops->write(recorder, snapshot, dirfd, &spike, &facts), 0);
	recorder->ops->snapshot_free(snapshot);
	return facts;
}

TEST_WITH(writes_oldest_first, make_tracefs, remove_folder)
{
	struct recorder *recorder = open_recorder(NULL, 0, 0);
	struct snapshot_facts facts;
	struct bytes file, times;
	char list[1024];

	fill_rings();
	facts = write_snapshot(recorder, folder->fd, 1);
	list_records(folder->fd, list, sizeof(list));
	assert_string_equal(list, "100:3:56 300:9:56 400:2:56 500:9:56 200:3:56 450:9:56 round ");
	assert_int_equal(facts.oldest_ns, 300);
	assert_int_equal(facts.events, 3);
	assert_int_equal(facts.lost, 7);

	file = load_file(folder->fd, "perf.data/data");
	assert_int_equal(facts.size, file.len);
	times = feature(file, SAMPLE_TIME);
	EXPECT(&times, U64(200), U64(500));
	recorder->ops->free(recorder);
}

/* The history is that of the spike's CPU; without one, the common history of all CPUs. */
TEST_WITH(history_is_of_the_spikes_cpu, make_tracefs, remove_folder)
{
	static const struct {
		int spike_cpu;
		uint64_t oldest_ns;
	} rows[] = { { 1, 300 }, { 2, 200 }, { 5, 0 }, { -1, 300 } };
	struct recorder *recorder = open_recorder(NULL, 0, 0);

	fill_rings();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_close_ int fd = new_folder(folder->fd, (char[]){ 'a' + i, '\0' });
		struct snapshot_facts facts = write_snapshot(recorder, fd, rows[i].spike_cpu);

		assert_int_equal(facts.oldest_ns, rows[i].oldest_ns);
	}
	recorder->ops->free(recorder);
}

TEST_WITH(empty_rings_make_a_file, make_tracefs, remove_folder)
{
	struct recorder *recorder = open_recorder(NULL, 0, 0);
	struct snapshot_facts facts = write_snapshot(recorder, folder->fd, 1);
	struct snapshot *snapshot = NULL;
	char list[1024];

	list_records(folder->fd, list, sizeof(list));
	assert_string_equal(list, "100:3:56 round ");
	assert_int_equal(facts.oldest_ns, 0);
	assert_int_equal(facts.events, 0);
	assert_int_equal(facts.lost, 0);
	/* Nothing is overwritten. */
	assert_int_equal(recorder->ops->copy(recorder, &snapshot), 0);
	assert_int_equal(recorder->ops->copy_rest(recorder, snapshot), 0);
	assert_int_equal(recorder->ops->write(recorder, snapshot, folder->fd,
					      &(struct perf_poke_spike){ .cpu = 1 }, &facts),
			 -EEXIST);
	recorder->ops->snapshot_free(snapshot);
	recorder->ops->free(recorder);
}

/* The IDs of the nth event of a file; each attribute of 136 bytes ends with their place. */
static struct bytes ids_of(struct bytes file, size_t event)
{
	struct bytes attrs = slice(file, 24, 16);
	uint64_t offset = take_u64(&attrs), entry_size;
	struct bytes size = slice(file, 16, 8), section;

	entry_size = take_u64(&size);
	section = slice(file, offset + (event + 1) * entry_size - 16, 16);
	offset = take_u64(&section);
	return slice(file, offset, take_u64(&section));
}

static void check_first_id(const char *name, struct recorder *recorder, struct snapshot *snapshot,
			   uint64_t first)
{
	const struct perf_poke_spike spike = { .cpu = 1 };
	_cleanup_close_ int fd = new_folder(folder->fd, name);
	struct snapshot_facts facts = {};
	struct bytes file, ids;

	assert_int_equal(recorder->ops->write(recorder, snapshot, fd, &spike, &facts), 0);
	recorder->ops->snapshot_free(snapshot);
	file = load_file(fd, "perf.data/data");
	/* sched_switch, which was opened first, has stacks, so it is last. */
	for (size_t event = 0; event < 2; event++) {
		ids = ids_of(file, event);
		assert_int_equal(ids.len, ARRAY_SIZE(cpus) * sizeof(uint64_t));
		for (size_t i = 0; i < ARRAY_SIZE(cpus); i++)
			assert_int_equal(take_u64(&ids),
					 first + (1 - event) * ARRAY_SIZE(cpus) + i);
	}
}

/* Records copied before a CPU came back keep their IDs when written later. */
TEST_WITH(opens_again_what_was_offline, make_tracefs, remove_folder)
{
	struct recorder *recorder = open_recorder(NULL, 0, 0);
	struct snapshot *before = NULL, *after = NULL;

	first_id = 1;
	assert_int_equal(recorder->ops->copy(recorder, &before), 0);
	assert_int_equal(recorder->ops->copy_rest(recorder, before), 0);
	assert_int_equal(recorder->ops->cpu_online(recorder, 2), 0);
	assert_int_equal(kernel.reopened, 2);
	assert_int_equal(side.joined, 2);
	assert_int_equal(recorder->ops->copy(recorder, &after), 0);
	assert_int_equal(recorder->ops->copy_rest(recorder, after), 0);
	check_first_id("before", recorder, before, 1);
	check_first_id("after", recorder, after, 101);

	/* The task names are tried even if the events fail. */
	kernel.reopen_error = -EPERM;
	assert_int_equal(recorder->ops->cpu_online(recorder, 5), -EPERM);
	assert_int_equal(side.joined, 5);
	recorder->ops->free(recorder);
}

static ino_t symbols_of(int dirfd)
{
	struct stat st;

	assert_int_equal(fstatat(dirfd, "perf.data/kcore_dir/kallsyms", &st, 0), 0);
	return st.st_ino;
}

/* One copy of the kernel's symbols serves all captures, also when the first of them is removed. */
TEST_WITH(symbols_are_shared, make_tracefs, remove_folder)
{
	struct recorder *recorder = open_recorder(NULL, 0, 0);
	_cleanup_close_ int a = new_folder(folder->fd, "a"), b = new_folder(folder->fd, "b");
	_cleanup_close_ int c = new_folder(folder->fd, "c");

	write_snapshot(recorder, a, 1);
	write_snapshot(recorder, b, 1);
	assert_int_equal(symbols_of(a), symbols_of(b));
	assert_int_equal(unlinkat(b, "perf.data/kcore_dir/kallsyms", 0), 0);
	write_snapshot(recorder, c, 1);
	symbols_of(c);
	recorder->ops->free(recorder);
}
