// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "made_file.h"
#include "perfdata.h"
#include "util.h"

#include <string.h>
#include <sys/mman.h>

#define AUX_ACTION_OFFSET 116
#define AUXTRACE_RECORD 71
#define AUXTRACE_SIZE 48
#define FEATURE_AUXTRACE 18
#define FEATURE_EVENT_DESC 12

static const uint64_t pt_ids[] = { 11, 12 };
static const uint64_t side_ids[] = { 21, 22 };

static const struct perfdata_event events[] = {
	{
		.attr = { .type = 8,
			  .size = sizeof(struct perf_event_attr),
			  .config = 0x300ee03,
			  .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
					 PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
			  .sample_id_all = 1 },
		.name = "intel_pt//",
		.ids = pt_ids,
		.nr_ids = ARRAY_SIZE(pt_ids),
	},
	{
		.attr = { .type = PERF_TYPE_SOFTWARE,
			  .size = sizeof(struct perf_event_attr),
			  .config = PERF_COUNT_SW_DUMMY,
			  .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
					 PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
			  .sample_id_all = 1 },
		.name = "dummy",
		.ids = side_ids,
		.nr_ids = ARRAY_SIZE(side_ids),
	},
};

static struct bytes records_of(const struct perfdata_buf *buf)
{
	return (struct bytes){ buf->data, buf->len };
}

static void check_pt_info(const char *filter, size_t len, size_t padded)
{
	_cleanup_(perfdata_buf_release) struct perfdata_buf buf = {};
	uint64_t fields[PERFDATA_PT_NR];
	struct bytes record, text;

	for (int i = 0; i < PERFDATA_PT_NR; i++)
		fields[i] = 0x1000000000000000 + i;
	assert_int_equal(perfdata_put_pt_info(&buf, fields, filter), 0);
	record = only_record(buf.data, buf.len, 70, 0);
	EXPECT(&record, U32(1) /* Intel PT */, U32(0));
	for (int i = 0; i < 17; i++)
		assert_int_equal(take_u64(&record), i == 16 ? len : fields[i]);
	text = take(&record, padded);
	if (padded)
		assert_string_equal(take_cstring(&text), filter);
	while (text.len)
		assert_int_equal(take_u8(&text), 0);
	EXPECT(&record, U64(fields[17]), END);
}

TEST(test_pt_info)
{
	check_pt_info(NULL, 0, 0);
	check_pt_info("", 0, 0);
	check_pt_info("filter*", 7, 8);
	check_pt_info("filter *", 8, 16);
	check_pt_info("filter main @ /bin/true", 23, 24);
}

/* The decoder reads these by number: tools/perf/util/intel-pt.h. */
TEST(test_pt_fields)
{
	static const int in_order[] = {
		PERFDATA_PT_PMU_TYPE,
		PERFDATA_PT_TIME_SHIFT,
		PERFDATA_PT_TIME_MULT,
		PERFDATA_PT_TIME_ZERO,
		PERFDATA_PT_CAP_USER_TIME_ZERO,
		PERFDATA_PT_TSC_BIT,
		PERFDATA_PT_NORETCOMP_BIT,
		PERFDATA_PT_HAVE_SCHED_SWITCH,
		PERFDATA_PT_SNAPSHOT_MODE,
		PERFDATA_PT_PER_CPU_MMAPS,
		PERFDATA_PT_MTC_BIT,
		PERFDATA_PT_MTC_FREQ_BITS,
		PERFDATA_PT_TSC_CTC_N,
		PERFDATA_PT_TSC_CTC_D,
		PERFDATA_PT_CYC_BIT,
		PERFDATA_PT_MAX_NONTURBO_RATIO,
		PERFDATA_PT_FILTER_STR_LEN,
		PERFDATA_PT_CAP_EVENT_TRACE,
	};

	for (int i = 0; i < (int)ARRAY_SIZE(in_order); i++)
		assert_int_equal(in_order[i], i);
}

TEST(test_time_conv)
{
	for (int i = 0; i < 4; i++) {
		const struct perf_event_mmap_page page = {
			.time_shift = 31,
			.time_mult = 0xfedcba98,
			.time_zero = 0x123456789abcdef0,
			.time_cycles = 77,
			.time_mask = 0xffffffffffff,
			.cap_user_time = 1,
			.cap_user_time_zero = i & 1,
			.cap_user_time_short = i >> 1,
		};
		_cleanup_(perfdata_buf_release) struct perfdata_buf buf = {};
		struct bytes record;

		assert_int_equal(perfdata_put_time_conv(&buf, &page), 0);
		record = only_record(buf.data, buf.len, 79, 0);
		EXPECT(&record, U64(31), U64(0xfedcba98), U64(0x123456789abcdef0), U64(77),
		       U64(0xffffffffffff), U8(i & 1), U8(i >> 1));
		assert_int_equal(record.len, 6);
		EXPECT(&record, ZEROS);
	}
}

TEST(test_id_index)
{
	static const uint64_t ids[] = { 11, 12, 21, 22 };
	static const int cpus[] = { 2, 7 };
	_cleanup_(perfdata_buf_release) struct perfdata_buf buf = {};
	struct bytes record;

	assert_int_equal(perfdata_put_id_index(&buf, events, ARRAY_SIZE(events), cpus), 0);
	record = only_record(buf.data, buf.len, 69, 0);
	assert_int_equal(take_u64(&record), ARRAY_SIZE(ids));
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		EXPECT(&record, U64(ids[i]), U64(i % 2) /* the trace's index */, U64(cpus[i % 2]),
		       U64(UINT64_MAX) /* any thread */);
	}
	assert_int_equal(record.len, 0);
}

/* The record is at the index's place, with its contents. */
static struct bytes check_auxtrace(struct bytes file, struct bytes *index,
				   const struct perfdata_auxtrace *trace)
{
	size_t len = trace->parts[0].len + trace->parts[1].len;
	uint64_t offset = take_u64(index);
	struct bytes at = slice(file, offset, file.len - offset), record, data;

	assert_int_equal(take_u64(index), AUXTRACE_SIZE);
	record = take_record(&at, AUXTRACE_RECORD, 0);
	assert_int_equal(record.len, AUXTRACE_SIZE - 8);
	data = take(&at, take_u64(&record));
	assert_int_equal(data.len, (len + 7) / 8 * 8);
	EXPECT(&record, U64(0), U64(trace->reference), U32(trace->index), U32(UINT32_MAX),
	       U32(trace->cpu), U32(0));
	for (size_t i = 0; i < ARRAY_SIZE(trace->parts); i++) {
		size_t part = trace->parts[i].len;

		if (part)
			assert_memory_equal(take(&data, part).at, trace->parts[i].data, part);
	}
	while (data.len)
		assert_int_equal(take_u8(&data), 0);
	return at;
}

TEST_IN_FOLDER(test_auxtrace)
{
	_cleanup_free_ uint8_t *large = malloc((3 << 20) + 5);
	const struct perfdata_auxtrace traces[] = {
		{ 0, 2, 0x1122334455667788, { { "0123456789abcdef", 16 } } },
		{ 1, 7, 2, { { "0123456789", 10 }, { "abc", 3 } } },
		{ 0, 2, 3, { { NULL, 0 }, { "x", 1 } } },
		{ 0, 2, 4, { { large, 3 << 20 }, { large + (2 << 20), (1 << 20) + 5 } } },
		{ 1, 7, 5, { { NULL, 0 }, { NULL, 0 } } },
	};
	struct perfdata *pd = create(events, ARRAY_SIZE(events));
	struct bytes file, index, rest = {};

	for (size_t i = 0; i < (3 << 20) + 5; i++)
		large[i] = i * 31 + (i >> 13);
	for (size_t i = 0; i < ARRAY_SIZE(traces); i++) {
		assert_int_equal(perfdata_write(pd, "record..", 8), 0);
		assert_int_equal(perfdata_write_auxtrace(pd, &traces[i]), 0);
	}
	assert_int_equal(perfdata_write(pd, "the last", 8), 0);
	file = finish(pd, 0, 0);
	index = feature(file, FEATURE_AUXTRACE);
	assert_int_equal(take_u64(&index), ARRAY_SIZE(traces));
	for (size_t i = 0; i < ARRAY_SIZE(traces); i++) {
		rest = check_auxtrace(file, &index, &traces[i]);
		assert_memory_equal(take(&rest, 8).at,
				    i + 1 < ARRAY_SIZE(traces) ? "record.." : "the last", 8);
	}
	assert_int_equal(index.len, 0);
}

TEST_IN_FOLDER(test_no_auxtrace)
{
	struct perfdata *pd = create(events, ARRAY_SIZE(events));
	struct bytes file;

	file = finish(pd, 0, 0);
	assert_null(feature(file, FEATURE_AUXTRACE).at);
	assert_non_null(feature(file, FEATURE_EVENT_DESC).at);
}

/* Also with free space after the first part, if the second part does not fit. */
TEST_IN_FOLDER(test_full_disk)
{
	_cleanup_free_ uint8_t *bytes = calloc(1, 2 << 20);
	const struct perfdata_auxtrace large[] = {
		{ 0, 2, 1, { { bytes, 2 << 20 }, { bytes, 1 } } },
		{ 0, 2, 1, { { bytes, 9 }, { bytes, 2 << 20 } } },
	};
	const struct perfdata_auxtrace small = { 0, 2, 1, { { bytes, 8 } } };

	for (size_t i = 0; i < ARRAY_SIZE(large); i++) {
		struct perfdata *pd = create(events, ARRAY_SIZE(events));
		rlim_t before = limit_file_size(1 << 20);
		int at_write = perfdata_write_auxtrace(pd, &large[i]);

		limit_file_size(before);
		assert_int_equal(at_write, -EFBIG);
		assert_int_equal(perfdata_write_auxtrace(pd, &small), -EFBIG);
		assert_int_equal(perfdata_finish(pd, NULL, 0, 0), -EFBIG);
		perfdata_free(pd);
		assert_int_equal(unlinkat(folder->fd, "perf.data/data", 0), 0);
		assert_int_equal(unlinkat(folder->fd, "perf.data", AT_REMOVEDIR), 0);
	}
}

static void check_attr(struct bytes attr)
{
	static const uint8_t zeros[4];
	struct bytes at = attr;

	EXPECT(&at, U32(8), U32(128));
	assert_memory_equal(slice(attr, AUX_ACTION_OFFSET, 4).at, zeros, 4);
	at = slice(attr, AUX_ACTION_OFFSET - 4, 4);
	assert_int_equal(take_u32(&at), 4096); /* aux_sample_size */
	at = slice(attr, AUX_ACTION_OFFSET + 4, 8);
	assert_int_equal(take_u64(&at), 0x0123456789abcdef); /* sig_data */
}

/* Older perf takes aux_action for a reserved field and refuses the file. */
TEST_IN_FOLDER(test_aux_action)
{
	static const uint32_t start_paused = 1;
	struct perfdata_event of[] = { events[0], events[1] };
	struct bytes file, body;
	struct perfdata *pd;

	of[0].attr.aux_sample_size = 4096;
	of[0].attr.sig_data = 0x0123456789abcdef;
	memcpy((char *)&of[0].attr + AUX_ACTION_OFFSET, &start_paused, sizeof(start_paused));
	pd = create(of, ARRAY_SIZE(events));
	file = finish(pd, 0, 0);
	check_attr(slice(file, 104 + 4 * 8, 128));
	body = feature(file, FEATURE_EVENT_DESC);
	check_attr(slice(body, 8, 128));
	assert_memory_equal((char *)&of[0].attr + AUX_ACTION_OFFSET, &start_paused,
			    sizeof(start_paused));
}

TEST(test_itrace_start)
{
	_cleanup_(perfdata_buf_release) struct perfdata_buf buf = {};
	struct bytes record;

	assert_int_equal(perfdata_put_itrace_start(&buf, 3, 100, 101), 0);
	record = only_record(buf.data, buf.len, PERF_RECORD_ITRACE_START, 0);
	EXPECT(&record, U32(100), U32(101), U32(100), U32(101), U64(0) /* time */, U32(3), U32(0),
	       U64(0) /* id: the first event's */, END);
}

static void check_map(struct bytes *records, const uint64_t map[3], const uint64_t file[3],
		      uint32_t pid, uint32_t flags, const char *name)
{
	struct bytes record = take_record(records, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);

	EXPECT(&record, U32(pid), U32(pid));
	for (int i = 0; i < 3; i++)
		assert_int_equal(take_u64(&record), map[i]);
	EXPECT(&record, U32(file[0]), U32(file[1]), U64(file[2]), U64(0),
	       U32(PROT_READ | PROT_EXEC), U32(flags));
	assert_int_equal(record.len, (strlen(name) / 8 + 1) * 8 + 32);
	EXPECT(&record, CSTRING(name), ZEROS);
}

#define MAP(...) ((const uint64_t[3]){ __VA_ARGS__ })

TEST_IN_FOLDER(test_task_maps)
{
	_cleanup_(perfdata_buf_release) struct perfdata_buf buf = {};
	struct bytes records;

	put_file(folder->fd, "proc/120/maps",
		 "5581c0a00000-5581c0a2f000 r--p 00000000 fd:1f 1179650    /usr/bin/a name\n"
		 "5581c0a2f000-5581c0a30000 r-xp 0002f000 fd:1f 1179650    /usr/bin/a name\n"
		 "7f0000000000-7f0000021000 rw-p 00000000 00:00 0 \n"
		 "7f1000000000-7f1000001000 rwxp 00000000 00:00 0 \n"
		 "7f2000000000-7f2000400000 r-xs 00001000 00:01 4026531840 /memfd:x (deleted)\n"
		 "7ffd0b9f6000-7ffd0b9f8000 r-xp 00000000 00:00 0          [vdso]\n"
		 "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]\n");
	put_file(folder->fd, "proc/self/maps", "00400000-00401000 r-xp 00000000 fd:1f 1 /not\n");
	assert_int_equal(perfdata_put_task_maps(&buf, &events[0].attr, folder->fd, -1), 0);
	records = records_of(&buf);
	check_map(&records, MAP(0x5581c0a2f000, 0x1000, 0x2f000), MAP(0xfd, 0x1f, 1179650), 120,
		  MAP_PRIVATE, "/usr/bin/a name");
	check_map(&records, MAP(0x7f1000000000, 0x1000, 0), MAP(0, 0, 0), 120, MAP_PRIVATE,
		  "//anon");
	check_map(&records, MAP(0x7f2000000000, 0x400000, 0x1000), MAP(0, 1, 4026531840), 120,
		  MAP_SHARED, "/memfd:x (deleted)");
	check_map(&records, MAP(0x7ffd0b9f6000, 0x2000, 0), MAP(0, 0, 0), 120, MAP_PRIVATE,
		  "[vdso]");
	check_map(&records, MAP(0xffffffffff600000, 0x1000, 0), MAP(0, 0, 0), 120, MAP_PRIVATE,
		  "[vsyscall]");
	assert_int_equal(records.len, 0);
}

/* Process 10 has ended; kernel threads, like 20, have no maps; 30's is invalid. */
TEST_IN_FOLDER(test_tasks_without_maps)
{
	_cleanup_(perfdata_buf_release) struct perfdata_buf buf = {};
	struct bytes records;

	put_file(folder->fd, "proc/10/status", "");
	put_file(folder->fd, "proc/20/maps", "");
	put_file(folder->fd, "proc/30/maps", "junk\n\n1000-2000\n1000-2000 r-xp 0\n");
	put_file(folder->fd, "proc/40/maps", "1000-3000 r-xp 00000000 08:01 9 /end");
	assert_int_equal(perfdata_put_task_maps(&buf, &events[0].attr, folder->fd, -1), 0);
	records = records_of(&buf);
	check_map(&records, MAP(0x1000, 0x2000, 0), MAP(8, 1, 9), 40, MAP_PRIVATE, "/end");
	assert_int_equal(records.len, 0);
}

TEST_IN_FOLDER(test_no_proc)
{
	_cleanup_(perfdata_buf_release) struct perfdata_buf buf = {};

	assert_int_equal(perfdata_put_task_maps(&buf, &events[0].attr, folder->fd, -1), -ENOENT);
	assert_int_equal(buf.len, 0);
}
