// SPDX-License-Identifier: GPL-2.0-only
#include "session/session_internal.h"

#include <stdlib.h>

#include "test.h"
#include "util.h"

static void print(FILE *file, const char *title, const struct results *results)
{
	fprintf(file, "# %s\n", title);
	assert_int_equal(summary_print(file, results), 0);
	fputc('\n', file);
}

static void print_rows(FILE *file)
{
	struct result_row one = {
		.cpu = 3,
		.stats = { .count = 10,
			   .min_ns = 812,
			   .max_ns = 83245,
			   .sum_ns = 23450,
			   .spikes = 1 },
		.p50_ns = 2000,
		.p99_ns = 30000,
		.p999_ns = 83245,
	};
	struct result_row several[2] = { { .cpu = 0 }, { .cpu = 12 } };
	struct results results = { .kinds[0].rows = &one, .nr_rows = 1, .elapsed_ns = 2000000000 };

	print(file, "one CPU", &results);
	results = (struct results){
		.kinds[0].rows = several,
		.nr_rows = 2,
		.kinds[0].all = { .cpu = ALL_CPUS, .stats = { .missed = 5, .unarmed = 6 } },
		.nr_failed = 1,
	};
	print(file, "several CPUs, missed expiries, spikes during a capture", &results);
}

static void print_unmeasured(FILE *file)
{
	struct result_row row = { .cpu = 3 };
	struct results results = { .kinds[PERF_POKE_TRIGGER_SPAN].rows = &row, .nr_rows = 1 };
	struct perf_poke_stats *stats = &results.kinds[PERF_POKE_TRIGGER_SPAN].all.stats;

	print(file, "a span", &results);
	*stats = (struct perf_poke_stats){ .not_entered = 1, .no_room = 3 };
	print(file, "not entered, no room", &results);
	*stats = (struct perf_poke_stats){ .reentered = 2, .thread_died = 1 };
	print(file, "entered again, a thread that died", &results);
}

/* Captures without a path get "1", "2", ... */
static void print_captures(FILE *file, const char *title, struct perf_poke_capture *captures,
			   size_t nr, const char *recorder)
{
	const struct results results = { .captures = captures, .nr_captures = nr };
	char paths[5][2];

	for (size_t i = 0; i < nr; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%zu", i + 1);
		if (!captures[i].path)
			captures[i].path = paths[i];
		captures[i].recorder = recorder;
	}
	print(file, title, &results);
}

#define CAPTURE(...)                                                                               \
	{                                                                                          \
		.spike = &(struct perf_poke_spike)                                                 \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}

static void print_spikes(FILE *file)
{
	struct perf_poke_capture captures[] = {
		{ .path = "out dir/1",
		  .spike = &(struct perf_poke_spike){ .latency_ns = 83245,
						      .cpu = 3,
						      .ran_cpu = 3,
						      .function_name = "hrtimer_wakeup",
						      .threshold_ns = 40000,
						      .stack_ns = 4100,
						      .pid = 12,
						      .tid = 12,
						      .comm = "st\033ress" },
		  .history_ns = 98765432,
		  .events = 4567,
		  .lost = 2,
		  .size = 3355443,
		  .skid_ns = 12345,
		  .blind_ns = 1234567 },
		CAPTURE(.function = 0xffffffff81000000, .idle = true, .threshold_ns = 41000,
			.stack_ns = 4100),
		CAPTURE(.comm = "0123456789abcdef", .pid = 12, .tid = 13, .ran_cpu = 1),
		CAPTURE(.poked = true, .cpu = -1),
	};
	struct perf_poke_capture kinds[] = {
		CAPTURE(.kind = PERF_POKE_TRIGGER_THREAD, .latency_ns = 50000, .irq_ns = 10000,
			.thread_ns = 50000, .function_name = "timerlat_irq", .idle = true,
			.has_noise = true, .noise_irq_ns = 10000, .noise_thread_ns = 30000),
		CAPTURE(.kind = PERF_POKE_TRIGGER_USER, .latency_ns = 60000, .irq_ns = 10000,
			.thread_ns = 50000, .user_ns = 60000, .rtla = true, .idle = true,
			.has_noise = true),
		CAPTURE(.irq_ns = 10000, .idle = true, .has_noise = true, .noise_nmi_ns = 1),
		CAPTURE(.kind = PERF_POKE_TRIGGER_WAKEUP, .latency_ns = 70000, .comm = "stress",
			.pid = 7, .tid = 7),
	};

	print_captures(file, "captures", captures, ARRAY_SIZE(captures), "events");
	print_captures(file, "kinds of spikes", kinds, ARRAY_SIZE(kinds), "events");
}

/* For a trace, bytes are printed instead of events. */
static void print_traces(FILE *file)
{
	const struct perf_poke_spike none = { 0 };
	struct perf_poke_capture captures[] = {
		{ .spike = &none,
		  .history_ns = 3000000,
		  .size = 3355443,
		  .skid_ns = 12345,
		  .blind_ns = 1234567,
		  .trace_bytes = 2000000 },
		{ .spike = &none, .trace_bytes = 1 },
		{ .spike = &none, .history_ns = UINT64_MAX, .trace_bytes = 1 },
	};

	print_captures(file, "traces", captures, ARRAY_SIZE(captures), "pt");
}

static void print_perf(FILE *file)
{
	struct perf_poke_capture capture = { .path = "1",
					     .recorder = "perf",
					     .spike = &(struct perf_poke_spike){ 0 } };
	struct perf_file files[] = { { .path = (char[]){ "a b" } }, { .path = (char[]){ "c" } } };
	const struct results results = {
		.captures = &capture,
		.nr_captures = 1,
		.perf = { .pid = 7, .status = 1, .data = { files, 2 } },
	};

	print(file, "perf has the trace", &results);
}

static void print_kept(FILE *file)
{
	static const char *const paths[] = { "a", "b", "c", "d", "e" };
	_cleanup_(results_release) struct results results = { .keeps = true };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		const struct perf_poke_capture capture = { .path = paths[i],
							   .recorder = "events",
							   .spike =
								   &(struct perf_poke_spike){ 0 } };

		assert_int_equal(results_add_capture(&results, &capture), 0);
	}
	results_remove_capture(&results, "b");
	results_remove_capture(&results, "none");
	results_remove_capture(&results, "e");
	assert_int_equal(results_count_taken(&results), 5);
	print(file, "of five captures b and e were removed", &results);
}

GOLDEN(PART(print_rows), PART(print_unmeasured), PART(print_spikes), PART(print_traces),
       PART(print_perf), PART(print_kept))

/* Results outlive the callback's capture. */
TEST(copies_captures)
{
	char path[] = "a", recorder[] = "b", function[] = "c";
	const struct perf_poke_capture capture = {
		.path = path,
		.recorder = recorder,
		.spike = &(struct perf_poke_spike){ .function_name = function },
	};
	_cleanup_(results_release) struct results results = { 0 };

	assert_int_equal(results_add_capture(&results, &capture), 0);
	assert_int_equal(results_add_capture(&results, &capture), 0);
	path[0] = recorder[0] = function[0] = 'x';
	assert_int_equal(results.nr_captures, 2);
	assert_string_equal(results.captures[1].path, "a");
	assert_string_equal(results.captures[1].recorder, "b");
	assert_string_equal(results.captures[1].spike->function_name, "c");
}

static char *print_histogram(const struct perf_poke_bucket *buckets, size_t nr)
{
	return WRITTEN(file, histogram_print(file, buckets, nr));
}

TEST(prints_histogram)
{
	static const struct perf_poke_bucket buckets[] = {
		{ 0, 1, 1 },	   { 508, 512, 2 },   { 512, 520, 4 },
		{ 1016, 1024, 3 }, { 4096, 4160, 1 }, { 8128, 8192, 1 },
	};
	_cleanup_free_ char *text = print_histogram(buckets, ARRAY_SIZE(buckets));

	assert_string_equal(text, "  latency                 expiries  each # doubles\n"
				  "       0ns - 512ns               3  ##\n"
				  "     512ns - 1.02us              7  ###\n"
				  "    1.02us - 2.05us              0\n"
				  "    2.05us - 4.1us               0\n"
				  "     4.1us - 8.19us              2  ##\n");
}

TEST(prints_empty_histogram)
{
	_cleanup_free_ char *text = print_histogram(NULL, 0);

	assert_string_equal(text, "");
}

/* For any spread there are few rows, and no expiry is left out. */
TEST(histogram_keeps_to_its_size)
{
	for (int low = 0; low < 64; low++) {
		for (int high = low; high < 64; high++) {
			const uint64_t end = high < 63 ? UINT64_C(2) << high : UINT64_MAX;
			const struct perf_poke_bucket buckets[] = {
				{ UINT64_C(1) << low, (UINT64_C(1) << low) + 1, 16 },
				{ end - 1, end, 32 },
			};
			_cleanup_free_ char *text = print_histogram(buckets, ARRAY_SIZE(buckets));
			size_t lines = 0, bars = 0;

			for (const char *c = text; *c; c++) {
				lines += *c == '\n';
				bars += *c == '#';
			}
			assert_in_range(lines, 2, HISTOGRAM_MAX_ROWS + 1);
			/* One # in the heading; 48 in one row, or 16 and 32 in two. */
			assert_true(bars == 1 + 6 || bars == 1 + 5 + 6);
		}
	}
}
