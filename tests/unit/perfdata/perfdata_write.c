// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "made_file.h"
#include "perfdata.h"
#include "util.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static const uint64_t first_ids[] = { 11, 12 };
static const uint64_t second_ids[] = { 21 };

static const struct perfdata_event events[] = {
	{
		/* Like a system whose perf_event_attr is longer than the written one. */
		.attr = { .type = PERF_TYPE_TRACEPOINT,
			  .size = 144,
			  .config = 371,
			  .sample_id_all = 1 },
		.name = "sched:sched_switch",
		.ids = first_ids,
		.nr_ids = ARRAY_SIZE(first_ids),
	},
	{
		.attr = { .type = PERF_TYPE_TRACEPOINT,
			  .size = 144,
			  .config = 459,
			  .sample_id_all = 1 },
		.name = "timer:hrtimer_expire_entry",
		.ids = second_ids,
		.nr_ids = ARRAY_SIZE(second_ids),
	},
};

static void check_attr(struct bytes *at, uint64_t config)
{
	struct bytes attr = take(at, 128);

	EXPECT(&attr, U32(PERF_TYPE_TRACEPOINT), U32(128), U64(config));
}

static void check_header(struct bytes file, uint64_t data_size)
{
	struct bytes header = slice(file, 0, 104);

	assert_memory_equal(take(&header, 8).at, "PERFILE2", 8);
	EXPECT(&header, U64(104), U64(144), U64(104 + 3 * 8), U64(2 * 144),
	       U64(104 + 3 * 8 + 2 * 144), U64(data_size), U64(0), U64(0));
}

static void check_event_desc(struct bytes body)
{
	EXPECT(&body, U32(2), U32(128));
	check_attr(&body, 371);
	EXPECT(&body, U32(2), STRING("sched:sched_switch"), U64(11), U64(12));
	check_attr(&body, 459);
	EXPECT(&body, U32(1), STRING("timer:hrtimer_expire_entry"), U64(21), END);
}

TEST_IN_FOLDER(test_layout)
{
	static const char records[] = "0123456789abcdefghijklmnopqrstuv";
	struct perfdata *pd = create(events, ARRAY_SIZE(events));
	struct bytes file, at, body;

	assert_int_equal(perfdata_write(pd, records, 8), 0);
	assert_int_equal(perfdata_write(pd, records + 8, 24), 0);
	file = finish(pd, 1000, 2000);

	check_header(file, 32);
	at = slice(file, 104, file.len - 104);
	EXPECT(&at, U64(11), U64(12), U64(21));
	check_attr(&at, 371);
	EXPECT(&at, U64(104), U64(16));
	check_attr(&at, 459);
	EXPECT(&at, U64(104 + 16), U64(8));
	assert_memory_equal(take(&at, 32).at, records, 32);

	check_event_desc(feature(file, 12));
	body = feature(file, 21);
	EXPECT(&body, U64(1000), U64(2000), END);
}

TEST_IN_FOLDER(test_only_needed_features)
{
	struct perfdata *pd = create(events, ARRAY_SIZE(events));
	struct bytes header;

	assert_int_equal(perfdata_write(pd, "01234567", 8), 0);
	header = slice(finish(pd, 0, 0), 72, 32);
	EXPECT(&header, U64(1 << 12), ZEROS);
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	assert_int_equal(clock_gettime(clock, &ts), 0);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

TEST_IN_FOLDER(test_clock)
{
	uint64_t day = now_ns(CLOCK_REALTIME), monotonic = now_ns(CLOCK_MONOTONIC);
	struct perfdata_event timed[ARRAY_SIZE(events)];
	struct bytes file, body;
	struct perfdata *pd;

	memcpy(timed, events, sizeof(events));
	timed[1].attr.use_clockid = 1;
	timed[1].attr.clockid = CLOCK_MONOTONIC;
	pd = create(timed, ARRAY_SIZE(events));
	assert_int_equal(perfdata_write(pd, "01234567", 8), 0);
	file = finish(pd, 0, 0);

	body = feature(file, 23);
	assert_in_range(take_u64(&body), 1, 10000000);
	assert_int_equal(body.len, 0);
	body = feature(file, 29);
	EXPECT(&body, U32(1), U32(CLOCK_MONOTONIC));
	assert_in_range(take_u64(&body), day, now_ns(CLOCK_REALTIME));
	assert_in_range(take_u64(&body), monotonic, now_ns(CLOCK_MONOTONIC));
	assert_int_equal(body.len, 0);
}

TEST_IN_FOLDER(test_many_records)
{
	static const size_t sizes[] = { 8,     1 << 20,	      24, (1 << 20) + 8, 3 << 20, 40,
					65528, (1 << 20) - 8, 16 };
	_cleanup_free_ uint64_t *records = malloc(8 << 20);
	struct perfdata *pd = create(events, ARRAY_SIZE(events));
	uint64_t start = perfdata_size(pd);
	struct bytes file;
	size_t at = 0;

	assert_non_null(records);
	for (size_t i = 0; i < (8 << 20) / sizeof(*records); i++)
		records[i] = i * 0x9e3779b97f4a7c15ULL;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		assert_int_equal(perfdata_write(pd, (uint8_t *)records + at, sizes[i]), 0);
		at += sizes[i];
		assert_int_equal(perfdata_size(pd), start + at);
	}
	file = finish(pd, 0, 0);
	check_header(file, at);
	assert_memory_equal(slice(file, start, at).at, records, at);
}

TEST_IN_FOLDER(test_folder)
{
	struct perfdata *pd = create(events, ARRAY_SIZE(events)), *untouched = NULL;
	struct stat st;

	assert_int_equal(fstat(perfdata_dirfd(pd), &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0700);
	st = stat_of("perf.data/data");
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	assert_int_equal(st.st_uid, geteuid());
	assert_int_equal(perfdata_create(&untouched, folder->fd, "perf.data", events, 2), -EEXIST);
	assert_int_equal(perfdata_create(&untouched, folder->fd, "no/perf.data", events, 2),
			 -ENOENT);
	assert_null(untouched);
	perfdata_free(pd);
	perfdata_free(NULL);
}

TEST_IN_FOLDER(test_unfinished)
{
	_cleanup_free_ uint8_t *records = calloc(1, 2 << 20);
	struct perfdata *pd = create(events, ARRAY_SIZE(events));
	struct bytes file;

	assert_int_equal(perfdata_write(pd, records, 2 << 20), 0);
	perfdata_free(pd);
	file = load_file(folder->fd, "perf.data/data");
	check_header(file, 0);
}

TEST_IN_FOLDER(test_full_disk_at_write)
{
	_cleanup_free_ uint8_t *records = calloc(1, 2 << 20);
	struct perfdata *pd = create(events, ARRAY_SIZE(events));
	rlim_t before = limit_file_size(1 << 20);
	int at_write = perfdata_write(pd, records, 2 << 20);
	int later = perfdata_write(pd, records, 8);
	int at_finish;

	limit_file_size(before);
	at_finish = perfdata_finish(pd, NULL, 0, 0);
	assert_int_equal(at_write, -EFBIG);
	assert_int_equal(later, -EFBIG);
	assert_int_equal(at_finish, -EFBIG);
	perfdata_free(pd);
}

TEST_IN_FOLDER(test_full_disk_at_finish)
{
	uint8_t records[4096] = {};
	struct perfdata *pd = create(events, ARRAY_SIZE(events));
	rlim_t before = limit_file_size(sizeof(records));
	int at_write = perfdata_write(pd, records, sizeof(records));
	int at_finish = perfdata_finish(pd, NULL, 0, 0);

	limit_file_size(before);
	assert_int_equal(at_write, 0);
	assert_int_equal(at_finish, -EFBIG);
	perfdata_free(pd);
}
