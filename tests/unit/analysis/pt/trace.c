// SPDX-License-Identifier: GPL-2.0-only
#include "pt/trace.h"

#include <string.h>

#include "analysis/made.h"
#include "code/sideband.h"
#include "test.h"

#define PSB "\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82"
#define PSBEND "\x02\x23"
#define MODE_64 "\x99\x01"
#define PSB_LEN 16
#define TSC_LEN 8
#define POINT_LEN 28
#define CYC_TNT_LEN 3
#define PERIOD 4096
/* More than a packet's 56 bits. */
#define TSC_BASE (UINT64_C(5) << 56)
#define TSC_STEP 1000

/* A CPU's stream: a PSB each PERIOD bytes from FIRST on, and unique TNT packets in between. */
#define FIRST 100
#define STREAM_LEN (256 * PERIOD)
static uint8_t stream[STREAM_LEN];

static void put_point(uint8_t *at, uint64_t tsc)
{
	memcpy(at, PSB MODE_64, PSB_LEN + 2);
	at += PSB_LEN + 2;
	if (tsc) {
		tsc = tsc << 8 | 0x19;
		memcpy(at, &tsc, TSC_LEN);
		at += TSC_LEN;
	}
	memcpy(at, PSBEND, 2);
}

static uint64_t tsc_of(size_t point)
{
	return TSC_BASE + TSC_STEP * (point + 1);
}

static int make_stream(void **state)
{
	uint32_t seed = 1;

	for (size_t i = 0; i < STREAM_LEN; i++) {
		seed = seed * 1103515245 + 12345;
		stream[i] = (uint8_t)(seed >> 16 | 4) & ~1U;
	}
	for (size_t i = 0; FIRST + i * PERIOD < STREAM_LEN; i++)
		put_point(stream + FIRST + i * PERIOD, tsc_of(i));
	/* A CYC and a TNT packet, which look like the begin of the PSB that follows */
	for (size_t i = 0; FIRST + i * PERIOD < STREAM_LEN; i += 2)
		memcpy(stream + FIRST + i * PERIOD - CYC_TNT_LEN, "\x8f\x02\x82", CYC_TNT_LEN);
	return 0;
}

struct opened {
	struct made_opened made;
	struct trace *trace;
};

static struct opened open_made(struct made *made)
{
	struct opened opened = { .made = made_open(made) };
	char *why;

	assert_int_equal(trace_new(&opened.trace, &opened.made.file, opened.made.sb, &why), 0);
	return opened;
}

/* Fails with a text that has this. */
static void check_refused(struct made *made, int error, const char *what)
{
	struct made_opened opened = made_open(made);
	struct trace *trace;
	char *why;

	assert_int_equal(trace_new(&trace, &opened.file, opened.sb, &why), error);
	assert_non_null(strstr(why, what));
	free(why);
	made_close(&opened);
}

static void close_made(struct opened *opened)
{
	trace_free(opened->trace);
	made_close(&opened->made);
}

/* One tick is 1 ns. */
static void make_info(struct made *made)
{
	made_info(made, 4, 16, -TSC_BASE);
}

static void add_trace(struct made *made, uint32_t cpu, size_t from, size_t until)
{
	made_trace(made, cpu, tsc_of(until / PERIOD), stream + from, until - from);
}

/* The segments are those of the stream, from PSB to PSB; the same from its end. */
static void check_segments(const struct trace_queue *queue, size_t first, size_t last, size_t end)
{
	struct trace_segment segment, back;
	size_t i = first;

	assert_true(trace_seek_segment(queue, 0, &segment));
	assert_false(segment.joined);
	do {
		size_t at = FIRST + i * PERIOD, len = i < last ? PERIOD : end - at;

		assert_int_equal(segment.tsc, tsc_of(i));
		assert_int_equal(segment.time, TSC_STEP * (i + 1));
		assert_int_equal(segment.end - segment.begin, len);
		assert_memory_equal(segment.begin, stream + at, len);
		assert_true(segment.limit - segment.end >= (i < last ? POINT_LEN : 0));
		assert_int_equal(segment.joined, i > first);
		assert_true(trace_seek_segment(queue, segment.time + TSC_STEP - 1, &back));
		assert_ptr_equal(back.begin, segment.begin);
		i++;
	} while (trace_next_segment(queue, &segment));
	assert_int_equal(i, last + 1);
	assert_true(trace_seek_segment(queue, UINT64_MAX, &back));
	assert_ptr_equal(back.begin, segment.begin);
	while (trace_previous_segment(queue, &back)) {
		assert_int_equal(back.tsc, tsc_of(--i - 1));
		assert_true(back.offset < segment.offset);
	}
	assert_int_equal(i, first + 1);
}

/* From the begin, which is no PSB, in large steps, then PSB by PSB. */
TEST(finds_segments)
{
	struct made made = {};
	struct opened opened;
	struct trace_segment segment;
	const struct trace_queue *queue;

	make_info(&made);
	add_trace(&made, 2, 0, STREAM_LEN);
	add_trace(&made, 1, 10 * PERIOD, 20 * PERIOD);
	made_trace(&made, 3, 0, NULL, 0);
	opened = open_made(&made);
	assert_int_equal(trace_nr_queues(opened.trace), 2);
	queue = trace_queue(opened.trace, 0);
	assert_int_equal(trace_queue_cpu(queue), 1);
	assert_int_equal(trace_size(queue), 10 * PERIOD);
	check_segments(queue, 10, 19, 20 * PERIOD);
	queue = trace_queue(opened.trace, 1);
	assert_int_equal(trace_queue_cpu(queue), 2);
	check_segments(queue, 0, 255, STREAM_LEN);
	assert_true(trace_seek_segment(queue, 1, &segment));
	assert_int_equal(segment.offset, FIRST);
	close_made(&opened);
}

/* Of a stream or of several snapshots */
TEST(reads_one_piece_of_a_cpu)
{
	struct made made = {};

	make_info(&made);
	add_trace(&made, 1, 0, 10 * PERIOD);
	add_trace(&made, 0, 0, 10 * PERIOD);
	add_trace(&made, 1, 10 * PERIOD, 20 * PERIOD);
	check_refused(&made, -ENOTSUP, "not in one piece");
}

TEST(reads_no_threads)
{
	struct made made = {};

	make_info(&made);
	add_trace(&made, UINT32_MAX, 0, 10 * PERIOD);
	add_trace(&made, 1, 0, 10 * PERIOD);
	check_refused(&made, -ENOTSUP, "threads");
}

/* A PSB without a time has the previous one's. */
TEST(bears_points_without_times)
{
	uint8_t bytes[16 * PERIOD] = {};
	struct made made = {};
	struct trace_segment segment;
	const struct trace_queue *queue;
	struct opened opened;
	size_t nr = 0;

	for (size_t i = 0; i < 16; i++)
		put_point(bytes + i * PERIOD, i == 4 || i == 12 ? tsc_of(i) : 0);
	make_info(&made);
	made_trace(&made, 0, TSC_BASE + 1, bytes, sizeof(bytes));
	opened = open_made(&made);
	queue = trace_queue(opened.trace, 0);
	for (bool ok = trace_seek_segment(queue, 0, &segment); ok;
	     ok = trace_next_segment(queue, &segment)) {
		assert_int_equal(segment.offset, nr * PERIOD);
		assert_int_equal(segment.time, nr == 4 || nr == 12 ? TSC_STEP * (nr + 1) : 0);
		nr++;
	}
	assert_int_equal(nr, 16);
	assert_true(trace_seek_segment(queue, TSC_STEP * 12, &segment));
	assert_int_equal(segment.offset, 11 * PERIOD);
	assert_true(trace_seek_segment(queue, TSC_STEP * 13, &segment));
	assert_int_equal(segment.offset, 15 * PERIOD);
	close_made(&opened);
}

struct aux_sample {
	struct perf_event_header header;
	uint64_t id;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
	uint64_t size;
	uint8_t aux[4 * PERIOD];
} __attribute__((packed));

static void add_sample(struct made *made, uint32_t cpu, size_t from)
{
	struct aux_sample sample = {
		.id = MADE_ID + cpu,
		.time = TSC_STEP * (from / PERIOD + 4),
		.cpu = cpu,
		.size = sizeof(sample.aux),
	};

	memcpy(sample.aux, stream + from, sizeof(sample.aux));
	made_record(made, PERF_RECORD_SAMPLE, 0, &sample.id,
		    sizeof(sample) - sizeof(sample.header));
}

TEST(reads_samples)
{
	static const uint64_t index[] = { 2, MADE_ID + 1, 1, 1, -1, MADE_ID + 3, 3, 3, -1 };
	struct made made = { .sample_type = PERF_SAMPLE_AUX };
	struct opened opened;

	made_record(&made, PERFDATA_RECORD_ID_INDEX, 0, index, sizeof(index));
	make_info(&made);
	add_sample(&made, 3, 0);
	add_sample(&made, 1, 2 * PERIOD);
	opened = open_made(&made);
	assert_int_equal(trace_nr_queues(opened.trace), 2);
	assert_int_equal(trace_queue_cpu(trace_queue(opened.trace, 0)), 1);
	check_segments(trace_queue(opened.trace, 0), 2, 5, 6 * PERIOD);
	check_segments(trace_queue(opened.trace, 1), 0, 3, 4 * PERIOD);
	close_made(&opened);
}

/* Bytes written while tracing was off are decoded with what precedes them. */
TEST(begins_where_mode_is_told)
{
	uint8_t bytes[8 * PERIOD] = {};
	struct made made = {};
	struct trace_segment segment;
	const struct trace_queue *queue;
	struct opened opened;

	for (size_t i = 0; i < 8; i++) {
		put_point(bytes + i * PERIOD, tsc_of(i));
		if (i != 3 && i != 5)
			memset(bytes + i * PERIOD + PSB_LEN, 0, 2);
	}
	make_info(&made);
	made_trace(&made, 0, TSC_BASE + 1, bytes, sizeof(bytes));
	opened = open_made(&made);
	queue = trace_queue(opened.trace, 0);
	assert_true(trace_seek_segment(queue, 0, &segment));
	assert_int_equal(segment.end - segment.begin, 3 * PERIOD);
	assert_true(trace_next_segment(queue, &segment));
	assert_int_equal(segment.offset, 3 * PERIOD);
	assert_int_equal(segment.end - segment.begin, 2 * PERIOD);
	assert_true(trace_seek_segment(queue, TSC_STEP * 5, &segment));
	assert_int_equal(segment.offset, 3 * PERIOD);
	assert_true(trace_seek_segment(queue, UINT64_MAX, &segment));
	assert_int_equal(segment.offset, 5 * PERIOD);
	assert_true(trace_previous_segment(queue, &segment) &&
		    trace_previous_segment(queue, &segment));
	assert_int_equal(segment.offset, 0);
	assert_false(trace_previous_segment(queue, &segment));
	close_made(&opened);
}

TEST(refuses)
{
	for (int has_info = 0; has_info < 2; has_info++) {
		struct made made = {};

		made_comm(&made, 0, 1, 1, "init", 0);
		if (has_info)
			make_info(&made);
		check_refused(&made, -ENODATA, has_info ? "empty" : "no trace");
	}
}

TEST(bears_traces_without_points)
{
	uint8_t zeros[1000] = {};
	struct trace_segment segment;
	struct made made = {};
	struct opened opened;

	make_info(&made);
	made_trace(&made, 0, 1, zeros, sizeof(zeros));
	opened = open_made(&made);
	assert_false(trace_seek_segment(trace_queue(opened.trace, 0), 0, &segment));
	assert_false(trace_seek_segment(trace_queue(opened.trace, 0), 5, &segment));
	assert_false(trace_seek_segment(trace_queue(opened.trace, 0), UINT64_MAX, &segment));
	close_made(&opened);
}

int main(void)
{
	return run_all(make_stream, NULL);
}
