// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The sample at the spike, read back from a file. */
#include "recorder/spike_sample.h"

#include <fcntl.h>
#include <string.h>

#include "helpers.h"
#include "perfdata_read.h"
#include "recorder/recorder.h"
#include "util.h"

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
