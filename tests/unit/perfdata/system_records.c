// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "helpers.h"
#include "perfdata.h"
#include "util.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>

#define KALLSYMS                                                                                   \
	"ffffffff80fff000 t _text\t[mod]\n"                                                        \
	"ffffffff80fff010 t not_text\n"                                                            \
	"ffffffff80fff020 t _text_too\n"                                                           \
	"ffffffff81000000 T _stext\n"                                                              \
	"ffffffff81000000 T _text\n"                                                               \
	"ffffffff82209988 T _etext\n"

/* The events recorder's sample_type; the trailer is TID, TIME, CPU, IDENTIFIER. */
static const struct perf_event_attr attr = {
	.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
		       PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW,
	.sample_id_all = 1,
};
static const size_t trailer = 32;

static void check_name_and_trailer(struct bytes record, const char *name)
{
	size_t padded = (strlen(name) / 8 + 1) * 8;

	assert_int_equal(record.len, padded + trailer);
	EXPECT(&record, CSTRING(name), ZEROS);
}

static void check_mmap(struct bytes *records, uint64_t start, uint64_t len, uint64_t pgoff,
		       const char *name)
{
	struct bytes record = take_record(records, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);

	EXPECT(&record, U32(UINT32_MAX), U32(0), U64(start), U64(len), U64(pgoff));
	check_name_and_trailer(record, name);
}

TEST_IN_FOLDER(test_kernel)
{
	_cleanup_(perfdata_buf_release) struct perfdata_buf buf = {};
	struct bytes records;

	put_file(folder->fd, "proc/kallsyms", KALLSYMS);
	put_file(folder->fd, "proc/modules",
		 "snd_timer 53248 1 snd_pcm, Live 0xffffffffc0a3f000\n"
		 "mod 16384 0 - Live 0xffffffffc0001000 (OE)\n");
	assert_int_equal(perfdata_put_kernel(&buf, &attr, folder->fd), 0);
	assert_int_equal(perfdata_put_modules(&buf, &attr, folder->fd), 0);
	records = (struct bytes){ buf.data, buf.len };
	check_mmap(&records, 0xffffffff81000000, 0x1209988, 0xffffffff81000000,
		   "[kernel.kallsyms]_text");
	check_mmap(&records, 0xffffffffc0a3f000, 53248, 0, "[snd_timer]");
	check_mmap(&records, 0xffffffffc0001000, 16384, 0, "[mod]");
	assert_int_equal(records.len, 0);
}

TEST_IN_FOLDER(test_kernel_without_text)
{
	_cleanup_(perfdata_buf_release) struct perfdata_buf buf = {};
	struct bytes records;

	put_file(folder->fd, "proc/kallsyms",
		 "ffff800080010000 T _stext\nffff800081010000 T _etext\n");
	assert_int_equal(perfdata_put_kernel(&buf, &attr, folder->fd), 0);
	assert_int_equal(perfdata_put_modules(&buf, &attr, folder->fd), 0);
	records = (struct bytes){ buf.data, buf.len };
	check_mmap(&records, 0xffff800080010000, 0x1000000, 0xffff800080010000,
		   "[kernel.kallsyms]_stext");
	assert_int_equal(records.len, 0);
}

TEST_IN_FOLDER(test_hidden_addresses)
{
	_cleanup_(perfdata_buf_release) struct perfdata_buf buf = {};

	put_file(
		folder->fd, "proc/kallsyms",
		"0000000000000000 T _stext\n0000000000000000 T _text\n0000000000000000 T _etext\n");
	put_file(folder->fd, "proc/modules",
		 "mod 16384 0 - Live 0x0000000000000000\nother 4096 1 mod, Live "
		 "0x0000000000000000\n");
	assert_int_equal(perfdata_put_kernel(&buf, &attr, folder->fd), 0);
	assert_int_equal(perfdata_put_modules(&buf, &attr, folder->fd), 0);
	assert_int_equal(buf.len, 0);
}

TEST_IN_FOLDER(test_no_kallsyms)
{
	_cleanup_(perfdata_buf_release) struct perfdata_buf buf = {};

	assert_int_equal(perfdata_put_kernel(&buf, &attr, folder->fd), 0);
	assert_int_equal(perfdata_put_modules(&buf, &attr, folder->fd), 0);
	assert_int_equal(buf.len, 0);
}

TEST_IN_FOLDER(test_trailer)
{
	static const struct {
		uint64_t sample_type;
		bool sample_id_all;
		size_t size;
	} cases[] = {
		{ PERF_SAMPLE_TIME, false, 0 },
		{ PERF_SAMPLE_IP | PERF_SAMPLE_RAW | PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD, true,
		  0 },
		{ PERF_SAMPLE_TID | PERF_SAMPLE_TIME, true, 16 },
		{ PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER,
		  true, 32 },
	};

	put_file(folder->fd, "proc/7/task/7/comm", "name\n");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct perf_event_attr other = {
			.sample_type = cases[i].sample_type,
			.sample_id_all = cases[i].sample_id_all,
		};
		_cleanup_(perfdata_buf_release) struct perfdata_buf buf = {};

		assert_int_equal(perfdata_put_tasks(&buf, &other, folder->fd), 0);
		assert_int_equal(buf.len, 8 + 8 + 8 + cases[i].size);
	}
}

static void check_comm(struct bytes *records, uint32_t pid, uint32_t tid, const char *comm)
{
	struct bytes record = take_record(records, PERF_RECORD_COMM, 0);

	EXPECT(&record, U32(pid), U32(tid));
	check_name_and_trailer(record, comm);
}

/* Process 10 ended before its threads were listed, 20 before its name was read. */
TEST_IN_FOLDER(test_odd_tasks)
{
	_cleanup_(perfdata_buf_release) struct perfdata_buf buf = {};
	struct bytes records;

	put_file(folder->fd, "proc/self/task/1/comm", "not a process\n");
	put_file(folder->fd, "proc/10/status", "");
	put_file(folder->fd, "proc/20/task/20/status", "");
	put_file(folder->fd, "proc/30/task/31/comm", "kworker/u9:0-events_unbound\n");
	assert_int_equal(perfdata_put_tasks(&buf, &attr, folder->fd), 0);
	records = (struct bytes){ buf.data, buf.len };
	check_comm(&records, 30, 31, "kworker/u9:0-ev");
	assert_int_equal(records.len, 0);
}

struct sleeper {
	pthread_barrier_t barrier;
	pid_t tid;
};

static void *sleep_named(void *arg)
{
	struct sleeper *sleeper = arg;

	pthread_setname_np(pthread_self(), "fifteen bytes !");
	sleeper->tid = syscall(SYS_gettid);
	pthread_barrier_wait(&sleeper->barrier);
	pthread_barrier_wait(&sleeper->barrier);
	return NULL;
}

static int count_comm(struct bytes records, uint32_t pid, uint32_t tid, const char *comm)
{
	int count = 0;

	while (records.len) {
		struct bytes record = take_record(&records, PERF_RECORD_COMM, 0);

		if (take_u32(&record) == pid && take_u32(&record) == tid) {
			check_name_and_trailer(record, comm);
			count++;
		}
	}
	return count;
}

TEST(test_this_process)
{
	_cleanup_close_ int rootfd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(perfdata_buf_release) struct perfdata_buf buf = {};
	struct sleeper sleeper = {};
	struct bytes records;
	pthread_t thread;

	assert_int_equal(pthread_setname_np(pthread_self(), "main of test"), 0);
	assert_int_equal(pthread_barrier_init(&sleeper.barrier, NULL, 2), 0);
	assert_int_equal(pthread_create(&thread, NULL, sleep_named, &sleeper), 0);
	pthread_barrier_wait(&sleeper.barrier);
	assert_int_equal(perfdata_put_tasks(&buf, &attr, rootfd), 0);
	pthread_barrier_wait(&sleeper.barrier);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&sleeper.barrier);

	records = (struct bytes){ buf.data, buf.len };
	assert_int_equal(count_comm(records, getpid(), getpid(), "main of test"), 1);
	assert_int_equal(count_comm(records, getpid(), sleeper.tid, "fifteen bytes !"), 1);
}

TEST(test_finished_round)
{
	_cleanup_(perfdata_buf_release) struct perfdata_buf buf = {};
	struct bytes records;

	assert_int_equal(perfdata_put_finished_round(&buf), 0);
	records = (struct bytes){ buf.data, buf.len };
	assert_int_equal(take_record(&records, 68, 0).len, 0);
	assert_int_equal(records.len, 0);
}
