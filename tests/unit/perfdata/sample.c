// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Samples of a file written by perfdata.h, with records in the kernel's layout. */
#include "helpers.h"
#include "perfdata.h"
#include "perfdata_read.h"
#include "util.h"

#include <string.h>

#define COMMON                                                                                     \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_CPU)
#define ALL_LISTS                                                                                  \
	(PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW |         \
	 PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |               \
	 PERF_SAMPLE_WEIGHT | PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_AUX)

static const uint64_t ids[][2] = { { 70, 71 }, { 50, 51 } };
static const struct perfdata_event events[] = {
	{ .attr = { .size = sizeof(struct perf_event_attr),
		    .type = PERF_TYPE_TRACEPOINT,
		    .config = 300,
		    .sample_type = COMMON | PERF_SAMPLE_RAW,
		    .sample_id_all = 1 },
	  .name = "sched:sched_switch",
	  .ids = ids[0],
	  .nr_ids = 2 },
	{ .attr = { .size = sizeof(struct perf_event_attr),
		    .type = PERF_TYPE_SOFTWARE,
		    .sample_type = COMMON | ALL_LISTS,
		    .read_format =
			    PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED,
		    .branch_sample_type = PERF_SAMPLE_BRANCH_HW_INDEX,
		    .sample_regs_user = 7,
		    .sample_regs_intr = 1,
		    .sample_id_all = 1 },
	  .name = "cpu-clock",
	  .ids = ids[1],
	  .nr_ids = 2 },
};

static const struct {
	struct perf_event_header header;
	uint64_t id, ip;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved, raw_size;
	char raw[12];
} __attribute__((packed)) tracepoint = { { PERF_RECORD_SAMPLE, 0, sizeof(tracepoint) },
					 71,
					 0x100,
					 7,
					 8,
					 1000,
					 3,
					 0,
					 12,
					 "twelve bytes" };

/* In 64-bit words; some hold two or four numbers. */
static const uint64_t sampled[] = {
	PERF_RECORD_SAMPLE | UINT64_C(8 * 38) << 48,
	50,
	0x200,
	UINT64_C(10) << 32 | 9,
	2000,
	1,
	/* period; read: two of a group, enabled, value and id */
	12345,
	2,
	5,
	1,
	50,
	2,
	51,
	/* callchain */
	3,
	PERF_CONTEXT_KERNEL,
	0x201,
	0x202,
	/* raw: the size, and 4 bytes */
	UINT64_C(0x64636261) << 32 | 4,
	/* branches, and the index of the newest */
	1,
	0x300,
	0x301,
	0x302,
	0,
	/* registers of user space; stack of 16 bytes, 8 of them used; weight */
	2,
	0x601,
	0x602,
	0x603,
	16,
	0x701,
	0x702,
	8,
	77,
	/* of the interrupt */
	2,
	0x401,
	/* physical address */
	0x501,
	/* aux */
	16,
	0x1111,
	0x2222,
};

static const struct {
	struct perf_event_header header;
	uint32_t pid, tid;
	char comm[8];
	uint32_t id_pid, id_tid;
	uint64_t time;
	uint32_t cpu, reserved;
	uint64_t id;
} comm = { { PERF_RECORD_COMM, 0, sizeof(comm) }, 7, 8, "comm", 7, 8, 3000, 1, 0, 51 };

static void write_file(struct perfdata_file *file)
{
	struct perfdata *pd = NULL;
	int fd;

	_Static_assert(sizeof(sampled) == 8 * 38, "its header says so");
	assert_int_equal(perfdata_create(&pd, folder->fd, "perf.data", events, ARRAY_SIZE(events)),
			 0);
	assert_int_equal(perfdata_write(pd, &tracepoint, sizeof(tracepoint)), 0);
	assert_int_equal(perfdata_write(pd, sampled, sizeof(sampled)), 0);
	assert_int_equal(perfdata_write(pd, &comm, sizeof(comm)), 0);
	assert_int_equal(perfdata_finish(pd, NULL, 0, 0), 0);
	perfdata_free(pd);
	fd = openat(folder->fd, "perf.data/data", O_RDONLY | O_CLOEXEC);
	assert_int_equal(perfdata_map(file, fd), 0);
	close(fd);
}

static void check_tracepoint(const struct perfdata_sample *sample)
{
	assert_string_equal(sample->kind->name, "sched:sched_switch");
	assert_int_equal(sample->kind->attr.config, 300);
	assert_int_equal(sample->id, 71);
	assert_int_equal(sample->ip, 0x100);
	assert_int_equal(sample->pid, 7);
	assert_int_equal(sample->tid, 8);
	assert_int_equal(sample->time, 1000);
	assert_int_equal(sample->cpu, 3);
	assert_int_equal(sample->raw.size, 12);
	assert_memory_equal(sample->raw.data, "twelve bytes", 12);
}

static void check_sampled(const struct perfdata_sample *sample)
{
	static const uint64_t user_regs[] = { 0x601, 0x602, 0x603 };

	assert_string_equal(sample->kind->name, "cpu-clock");
	assert_int_equal(sample->tid, 10);
	assert_int_equal(sample->time, 2000);
	assert_int_equal(sample->period, 12345);
	assert_int_equal(sample->callchain.size, 24);
	assert_memory_equal(sample->callchain.data, &sampled[14], 24);
	assert_memory_equal(sample->raw.data, "abcd", sample->raw.size);
	assert_int_equal(sample->user_regs.size, 24);
	assert_memory_equal(sample->user_regs.data, user_regs, sizeof(user_regs));
	assert_int_equal(sample->aux.size, 16);
	assert_memory_equal(sample->aux.data, &sampled[ARRAY_SIZE(sampled) - 2], 16);
}

static void check_comm(const struct perfdata_sample *sample)
{
	assert_string_equal(sample->kind->name, "cpu-clock");
	assert_int_equal(sample->has, COMMON & ~PERF_SAMPLE_IP);
	assert_int_equal(sample->time, 3000);
	assert_int_equal(sample->tid, 8);
	assert_int_equal(sample->cpu, 1);
}

TEST_IN_FOLDER(test_reads)
{
	static void (*const checks[])(
		const struct perfdata_sample *) = { check_tracepoint, check_sampled, check_comm };
	struct perfdata_events found;
	struct perfdata_sample sample;
	struct perfdata_record record;
	struct perfdata_file file;
	size_t nr = 0;

	write_file(&file);
	assert_int_equal(perfdata_events_read(&found, &file), 0);
	assert_int_equal(found.nr, 2);
	for (uint64_t at = file.data.offset; perfdata_next(&file, &at, &record); nr++) {
		assert_true(perfdata_sample(&found, &record, &sample));
		checks[nr](&sample);
	}
	assert_int_equal(nr, ARRAY_SIZE(checks));
	perfdata_events_release(&found);
	perfdata_unmap(&file);
}

/* A copy of exactly the record's size, so that a sanitizer sees reads past it. */
static bool parse_cut(const struct perfdata_events *found, const struct perfdata_record *record,
		      uint16_t size)
{
	struct perfdata_record cut = { record->type, record->misc, size, malloc(size), NULL, 0 };
	struct perfdata_sample sample;
	bool parsed;

	memcpy((void *)cut.bytes, record->bytes, size);
	parsed = perfdata_sample(found, &cut, &sample);
	free((void *)cut.bytes);
	return parsed;
}

TEST_IN_FOLDER(test_cut_records)
{
	struct perfdata_events found;
	struct perfdata_record record;
	struct perfdata_file file;

	write_file(&file);
	assert_int_equal(perfdata_events_read(&found, &file), 0);
	for (uint64_t at = file.data.offset; perfdata_next(&file, &at, &record);) {
		for (uint16_t size = 8; size < record.size; size++) {
			bool parsed = parse_cut(&found, &record, size);

			if (record.type == PERF_RECORD_SAMPLE)
				assert_false(parsed);
		}
	}
	perfdata_events_release(&found);
	perfdata_unmap(&file);
}

TEST_IN_FOLDER(test_no_record_of_an_event)
{
	static const struct perf_event_header round = { 68, 0, sizeof(round) };
	struct perfdata_record record = { 68, 0, sizeof(round), (const uint8_t *)&round, NULL, 0 };
	uint64_t other[ARRAY_SIZE(sampled)];
	struct perfdata_events found, none = {};
	struct perfdata_sample sample;
	struct perfdata_file file;

	write_file(&file);
	assert_int_equal(perfdata_events_read(&found, &file), 0);
	assert_false(perfdata_sample(&found, &record, &sample));
	memcpy(other, sampled, sizeof(other));
	other[1] = 52;
	record = (struct perfdata_record){ PERF_RECORD_SAMPLE,	   0,	 sizeof(other),
					   (const uint8_t *)other, NULL, 0 };
	assert_false(perfdata_sample(&found, &record, &sample));
	assert_false(perfdata_sample(&none, &record, &sample));
	perfdata_events_release(&found);
	perfdata_events_release(&none);
	perfdata_unmap(&file);
}

/* Each byte of the header set to its maximum: it has the sizes and offsets of attrs and IDs. */
TEST_IN_FOLDER(test_malformed_heads)
{
	struct perfdata_file file, odd;

	write_file(&file);
	for (uint64_t i = 0; i < file.data.offset; i++) {
		uint8_t *bytes = malloc(file.size);
		struct perfdata_events found = {};

		memcpy(bytes, file.bytes, file.size);
		bytes[i] = 0xff;
		odd = file;
		odd.bytes = bytes;
		memcpy(&odd.attr_size, bytes + 16, 8);
		memcpy(&odd.attrs, bytes + 24, sizeof(odd.attrs));
		if (!perfdata_events_read(&found, &odd))
			assert_true(found.nr <= file.size / 80);
		perfdata_events_release(&found);
		free(bytes);
	}
	perfdata_unmap(&file);
}
