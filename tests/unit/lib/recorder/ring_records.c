// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* On fake rings: whole records, newest first, like the kernel's. */
#include "recorder/recorder.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>

#include "helpers.h"
#include "perfdata_read.h"
#include "util.h"

#define IN 0
#define OUT PERF_RECORD_MISC_SWITCH_OUT
#define PREEMPTED (PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT)

struct sample_id {
	uint32_t pid, tid;
	uint64_t time_ns;
	uint32_t cpu, reserved;
	uint64_t id;
};

struct sample {
	struct perf_event_header header;
	uint64_t id, ip;
	uint32_t pid, tid;
	uint64_t time_ns;
	uint32_t cpu, reserved;
	uint64_t raw;
};

struct switch_record {
	struct perf_event_header header;
	uint32_t other_pid, other_tid;
	struct sample_id sample_id;
};

struct lost {
	struct perf_event_header header;
	uint64_t id, lost;
	struct sample_id sample_id;
};

struct fork {
	struct perf_event_header header;
	uint32_t pid, ppid, tid, ptid;
	uint64_t time_ns;
	struct sample_id sample_id;
};

struct comm {
	struct perf_event_header header;
	uint32_t pid, tid;
	char name[16];
	struct sample_id sample_id;
};

/* Records are appended; a copy has memory of exactly its size. */
struct ring {
	char bytes[4096];
	size_t len;
};

static void put(struct ring *ring, const void *record, size_t size)
{
	assert_true(size <= sizeof(ring->bytes) - ring->len);
	memcpy(ring->bytes + ring->len, record, size);
	ring->len += size;
}

static void put_sample(struct ring *ring, uint64_t time_ns)
{
	const struct sample sample = {
		.header = { PERF_RECORD_SAMPLE, 0, sizeof(sample) },
		.id = 1,
		.ip = UINT64_MAX,
		.pid = 2,
		.tid = 3,
		.time_ns = time_ns,
		.raw = time_ns * 7,
	};

	put(ring, &sample, sizeof(sample));
}

/* Task `own` (thread own + 1) is switched in or out at time_ns, from or to task `other`. */
static void put_switch(struct ring *ring, uint16_t misc, uint32_t own, uint32_t other,
		       uint64_t time_ns)
{
	const struct switch_record record = {
		.header = { PERF_RECORD_SWITCH_CPU_WIDE, misc, sizeof(record) },
		.other_pid = other,
		.other_tid = other + 1,
		.sample_id = { own, own + 1, time_ns, 0, 0, 1 },
	};

	put(ring, &record, sizeof(record));
}

static void put_fork(struct ring *ring, uint32_t pid, uint32_t ppid, uint64_t time_ns)
{
	const struct fork record = {
		.header = { PERF_RECORD_FORK, 0, sizeof(record) },
		.pid = pid,
		.ppid = ppid,
		.tid = pid,
		.ptid = ppid,
		.time_ns = time_ns,
		.sample_id = { ppid, ppid, time_ns, 3, 0, 7 },
	};

	put(ring, &record, sizeof(record));
}

static void put_lost(struct ring *ring, uint64_t lost, uint64_t time_ns)
{
	const struct lost record = {
		.header = { PERF_RECORD_LOST, 0, sizeof(record) },
		.id = 1,
		.lost = lost,
		.sample_id = { 2, 3, time_ns, 0, 0, 1 },
	};

	put(ring, &record, sizeof(record));
}

static struct ring_copy copy_of(const struct ring *ring, size_t len)
{
	struct ring_copy copy = { .data = malloc(len ?: 1), .size = len };

	assert_non_null(copy.data);
	memcpy(copy.data, ring->bytes, len);
	return copy;
}

static bool first_task(const struct ring *ring, size_t len, struct records_task *task)
{
	struct ring_copy copy = copy_of(ring, len);
	bool found = records_first_task(&copy, task);

	free(copy.data);
	return found;
}

static void check_first_task(const struct ring *ring, size_t len, uint32_t pid)
{
	struct records_task task = {};

	assert_true(first_task(ring, len, &task));
	assert_int_equal(task.pid, pid);
	assert_int_equal(task.tid, pid + 1);
}

static void check_no_first_task(const struct ring *ring, size_t len)
{
	struct records_task task = { 7, 8 };

	assert_false(first_task(ring, len, &task));
	assert_int_equal(task.pid, 7);
	assert_int_equal(task.tid, 8);
}

/* A task switched out ran before; one switched in followed the other. */
TEST(knows_who_ran_before_a_switch)
{
	static const struct {
		uint16_t misc;
		uint32_t expected;
	} cases[] = { { OUT, 10 }, { PREEMPTED, 10 }, { IN, 20 } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ring ring = {};

		put_switch(&ring, cases[i].misc, 10, 20, 100);
		check_first_task(&ring, ring.len, cases[i].expected);
	}
}

TEST(takes_the_oldest_switch)
{
	struct ring ring = {};

	put_sample(&ring, 500);
	put_switch(&ring, IN, 30, 20, 400);
	put_switch(&ring, OUT, 20, 30, 390);
	put_sample(&ring, 300);
	put_switch(&ring, IN, 20, 10, 200);
	put_sample(&ring, 100);
	check_first_task(&ring, ring.len, 10);
}

TEST(finds_no_task_without_a_switch)
{
	struct ring ring = {};

	check_no_first_task(&ring, 0);
	put_sample(&ring, 200);
	put_lost(&ring, 1, 100);
	check_no_first_task(&ring, ring.len);
}

/* The oldest record may be torn: then the next one counts, if there is one. */
TEST(finds_no_task_in_a_torn_switch)
{
	struct ring one = {}, two = {};

	put_switch(&one, OUT, 10, 20, 100);
	put_switch(&two, OUT, 30, 40, 200);
	put_switch(&two, OUT, 10, 20, 100);
	for (size_t torn = 1; torn < one.len; torn++) {
		check_no_first_task(&one, one.len - torn);
		check_first_task(&two, two.len - torn, 30);
	}
	check_first_task(&two, two.len, 10);
}

/* Unwritten memory is zero, which is no record. */
TEST(stops_at_what_is_no_record)
{
	struct ring ring = {};

	put_switch(&ring, OUT, 10, 20, 200);
	put(&ring, (char[64]){}, 64);
	put_switch(&ring, OUT, 30, 40, 100);
	check_first_task(&ring, ring.len, 10);
}

static const uint64_t ids[] = { 1 };
static const struct perfdata_event event = {
	.attr = { .type = PERF_TYPE_SOFTWARE,
		  .sample_type = RECORDS_SAMPLE_TYPE | PERF_SAMPLE_RAW,
		  .sample_id_all = 1 },
	.name = "event",
	.ids = ids,
	.nr_ids = 1,
};

/* Writes the copies to a file, frees them and checks its records and counts. One attr of 128 bytes
 * and one ID precede the data. */
static void check_written(struct ring_copy *copies, size_t nr, const struct ring *expected,
			  const struct records_facts *wanted)
{
	struct records_facts facts = {};
	struct perfdata *pd = NULL;
	struct bytes file;
	uint64_t head;

	assert_int_equal(perfdata_create(&pd, folder->fd, "perf.data", &event, 1), 0);
	head = perfdata_size(pd);
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(records_write_ring(pd, &copies[i], &facts), 0);
		free(copies[i].data);
	}
	assert_int_equal(perfdata_size(pd) - head, expected->len);
	assert_int_equal(perfdata_finish(pd, NULL, 0, 0), 0);
	perfdata_free(pd);
	file = load_file(folder->fd, "perf.data/data");
	assert_memory_equal(slice(file, 104 + 8 + 128 + 16, expected->len).at, expected->bytes,
			    expected->len);
	assert_int_equal(facts.first_ns, wanted->first_ns);
	assert_int_equal(facts.last_ns, wanted->last_ns);
	assert_int_equal(facts.samples, wanted->samples);
	assert_int_equal(facts.lost, wanted->lost);
}

TEST_IN_FOLDER(writes_the_oldest_first)
{
	struct ring ring = {}, expected = {};
	struct ring_copy copy;

	put_sample(&ring, 400);
	put_switch(&ring, IN, 20, 10, 300);
	put_sample(&ring, 200);
	put_switch(&ring, OUT, 10, 20, 100);
	put_switch(&expected, OUT, 10, 20, 100);
	put_sample(&expected, 200);
	put_switch(&expected, IN, 20, 10, 300);
	put_sample(&expected, 400);
	copy = copy_of(&ring, ring.len);
	check_written(&copy, 1, &expected,
		      &(struct records_facts){ .first_ns = 100, .last_ns = 400, .samples = 2 });
}

/* 40 was forked by another task, 50 has ended, 60 is incomplete. */
TEST_IN_FOLDER(names_kernel_threads)
{
	_cleanup_(perfdata_buf_release) struct perfdata_buf buf = {};
	const struct comm *comm;
	struct ring ring = {};
	struct ring_copy copy;

	put_file(folder->fd, "proc/30/task/30/comm", "fifteen_letters-and-more\n");
	put_file(folder->fd, "proc/31/task/31/comm", "short\n");
	put_file(folder->fd, "proc/40/task/40/comm", "user\n");
	put_file(folder->fd, "proc/60/task/60/comm", "torn\n");
	put_fork(&ring, 31, 2, 500);
	put_fork(&ring, 50, 2, 400);
	put_fork(&ring, 40, 1, 300);
	put_sample(&ring, 200);
	put_fork(&ring, 30, 2, 100);
	put_fork(&ring, 60, 2, 50);
	copy = copy_of(&ring, ring.len - 1);
	assert_int_equal(records_put_kthreads(&buf, &copy, folder->fd), 0);
	assert_int_equal(buf.len, 2 * sizeof(*comm));
	comm = (const void *)buf.data;
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(comm[i].header.type, PERF_RECORD_COMM);
		assert_int_equal(comm[i].header.size, sizeof(*comm));
		assert_int_equal(comm[i].pid, i ? 30 : 31);
		assert_int_equal(comm[i].tid, i ? 30 : 31);
		assert_string_equal(comm[i].name, i ? "fifteen_letters" : "short");
		assert_int_equal(comm[i].sample_id.time_ns, i ? 100 : 500);
		assert_int_equal(comm[i].sample_id.cpu, 3);
		assert_int_equal(comm[i].sample_id.id, 7);
	}
	free(copy.data);
}

TEST_IN_FOLDER(leaves_out_what_is_torn)
{
	struct ring ring = {}, expected = {};
	struct ring_copy copies[2];

	put_sample(&ring, 400);
	put_sample(&ring, 300);
	put_sample(&expected, 400);
	put_sample(&expected, 400);
	copies[0] = copy_of(&ring, ring.len - 1);
	copies[1] = copy_of(&ring, sizeof(struct sample) + sizeof(struct perf_event_header) - 1);
	check_written(copies, 2, &expected,
		      &(struct records_facts){ .first_ns = 400, .last_ns = 400, .samples = 2 });
}

/* The record is kept: it shows where. */
TEST_IN_FOLDER(counts_what_was_lost)
{
	struct ring ring = {}, expected = {};
	struct ring_copy copy;

	put_lost(&ring, 5, 900);
	put_sample(&ring, 400);
	put_lost(&ring, 37, 50);
	put_lost(&expected, 37, 50);
	put_sample(&expected, 400);
	put_lost(&expected, 5, 900);
	copy = copy_of(&ring, ring.len);
	check_written(&copy, 1, &expected,
		      &(struct records_facts){
			      .first_ns = 400, .last_ns = 400, .samples = 1, .lost = 42 });
}

TEST_IN_FOLDER(adds_the_facts_of_rings)
{
	struct ring first = {}, second = {}, expected = {};
	struct ring_copy copies[3];

	put_sample(&first, 700);
	put_sample(&first, 300);
	put_sample(&second, 600);
	put_switch(&second, IN, 20, 10, 200);
	put_sample(&expected, 300);
	put_sample(&expected, 700);
	put_switch(&expected, IN, 20, 10, 200);
	put_sample(&expected, 600);
	copies[0] = copy_of(&first, first.len);
	copies[1] = copy_of(&first, 0);
	copies[2] = copy_of(&second, second.len);
	check_written(copies, ARRAY_SIZE(copies), &expected,
		      &(struct records_facts){ .first_ns = 200, .last_ns = 700, .samples = 3 });
}

TEST_IN_FOLDER(finds_no_facts_in_an_empty_ring)
{
	struct ring ring = {};
	struct ring_copy copy = copy_of(&ring, 256);

	check_written(&copy, 1, &ring, &(struct records_facts){});
}

/* The sample at the spike, read back from a file. */

#define FRAMES_MAX 400

/* Writes a file with a spike's sample and finds it; false if there is none. */
static bool written(const struct perf_poke_spike *spike, struct perfdata_file *file,
		    struct perfdata_record *record)
{
	const struct perf_event_attr attr = { .sample_id_all = 1, .use_clockid = 1, .clockid = 1 };
	const struct perfdata_event event = spike_sample_event(&attr);
	_cleanup_close_ int fd = -1;
	struct perfdata *pd;
	uint64_t at;

	assert_int_equal(event.attr.clockid, 1);
	assert_int_equal(perfdata_create(&pd, folder->fd, "perf.data", &event, 1), 0);
	assert_int_equal(spike_sample_write(pd, spike, 7777), 0);
	assert_int_equal(perfdata_finish(pd, NULL, 7777, 7777), 0);
	perfdata_free(pd);
	fd = openat(folder->fd, "perf.data/data", O_RDONLY | O_CLOEXEC);
	assert_int_equal(perfdata_map(file, fd), 0);
	at = file->data.offset;
	return perfdata_next(file, &at, record);
}

TEST(names_each_process_once)
{
	const struct perf_poke_spike spike = { .stack_pid = 5, .late_pid = 7, .holder_pid = 5 };
	const struct perf_poke_spike kernel = { .holder_pid = 9 };
	struct spike_processes found = spike_processes(&spike);

	assert_int_equal(found.pids[0], 5);
	assert_int_equal(found.pids[1], 7);
	assert_int_equal(found.pids[2], 0);
	found = spike_processes(&kernel);
	assert_int_equal(found.pids[0], 9);
	assert_int_equal(found.pids[1], 0);
}

TEST_IN_FOLDER(has_a_callchain)
{
	static const struct perf_poke_frame frames[] = {
		{ .address = 0xffffffff81000010 },
		{ .address = 0xffffffff81000020 },
		{ .address = 0x401000, .user = true },
	};
	static const struct perf_poke_frame *const stack[] = { frames, frames + 1, frames + 2 };
	const struct perf_poke_spike spike = { .stack_pid = 11,
					       .stack_tid = 12,
					       .ran_cpu = 3,
					       .stack = stack,
					       .nr_frames = ARRAY_SIZE(stack) };
	const uint64_t words[] = {
		UINT64_C(1) << 63,
		0xffffffff81000010,
		12ULL << 32 | 11,
		7777,
		3,
		5,
		PERF_CONTEXT_KERNEL,
		0xffffffff81000010,
		0xffffffff81000020,
		PERF_CONTEXT_USER,
		0x401000,
	};
	struct perfdata_record record;
	struct perfdata_file file;

	assert_true(written(&spike, &file, &record));
	assert_int_equal(record.type, PERF_RECORD_SAMPLE);
	assert_int_equal(record.misc, PERF_RECORD_MISC_KERNEL);
	assert_int_equal(record.size, 8 + sizeof(words));
	assert_memory_equal(record.bytes + 8, words, sizeof(words));
	perfdata_unmap(&file);
}

static const struct perf_poke_frame frame = { .address = 0xffffffff81000010 };
static const struct perf_poke_frame *const here[] = { &frame };

TEST_IN_FOLDER(follows_that_of_the_holder)
{
	static const struct perf_poke_frame other = { .address = 0x401000, .user = true };
	static const struct perf_poke_frame *const holder[] = { &other };
	const struct perf_poke_spike spike = {
		.stack = here,
		.nr_frames = 1,
		.holder_pid = 11,
		.holder_tid = 12,
		.holder = holder,
		.nr_holder_frames = 1,
	};
	const uint64_t words[] = {
		UINT64_C(1) << 63, 0x401000, 12ULL << 32 | 11, 7777, 0, 2,
		PERF_CONTEXT_USER, 0x401000,
	};
	struct perfdata_record record;
	struct perfdata_file file;
	uint64_t at;

	assert_true(written(&spike, &file, &record));
	assert_int_equal(record.misc, PERF_RECORD_MISC_USER);
	assert_int_equal(record.size, 8 + sizeof(words));
	assert_memory_equal(record.bytes + 8, words, sizeof(words));
	at = file.data.offset + record.size;
	assert_true(perfdata_next(&file, &at, &record));
	assert_int_equal(record.misc, PERF_RECORD_MISC_KERNEL);
	perfdata_unmap(&file);
}

TEST_IN_FOLDER(is_missing_without_a_stack)
{
	const struct perf_poke_spike spike = { .ran_cpu = 3 };
	struct perfdata_record record;
	struct perfdata_file file;

	assert_false(written(&spike, &file, &record));
	perfdata_unmap(&file);
}

/* The kernel's limit is kernel.perf_event_max_stack. */
TEST_IN_FOLDER(is_cut_where_it_is_too_long)
{
	const struct perf_poke_frame *stack[FRAMES_MAX];
	const struct perf_poke_spike spike = { .stack = stack, .nr_frames = FRAMES_MAX };
	struct perfdata_record record;
	struct perfdata_file file;

	for (size_t i = 0; i < FRAMES_MAX; i++)
		stack[i] = &frame;
	assert_true(written(&spike, &file, &record));
	assert_true(record.size < FRAMES_MAX * 8);
	perfdata_unmap(&file);
}
