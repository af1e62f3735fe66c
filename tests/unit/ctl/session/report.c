// SPDX-License-Identifier: GPL-2.0-only
#include "session/report.h"
#include "test.h"

#include <string.h>

static char *print(const struct results *results)
{
	return WRITTEN(file, assert_int_equal(report_print(file, results), 0));
}

TEST(prints_one_cpu)
{
	struct result_row row = {
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
	const struct results results = { .kinds[0].rows = &row,
					 .nr_rows = 1,
					 .elapsed_ns = 2000000000 };
	_cleanup_free_ char *text = print(&results);

	assert_string_equal(text, "  CPU     expiries      min      avg      p50      p99    p99.9 "
				  "     max   spikes\n"
				  "    3           10    812ns   2.35us      2us     30us   83.2us "
				  "  83.2us        1\n"
				  "\ncaptures: 0 complete, 0 failed, in 2s\n");
}

TEST(prints_several_cpus)
{
	struct result_row rows[2] = { { .cpu = 0 }, { .cpu = 12 } };
	const struct results results = {
		.kinds[0].rows = rows,
		.nr_rows = 2,
		.kinds[0].all = { .cpu = ALL_CPUS, .stats = { .missed = 5, .unarmed = 6 } },
		.nr_failed = 1,
	};
	_cleanup_free_ char *text = print(&results);

	assert_non_null(strstr(text, "\n   12            0        -        -"));
	assert_non_null(strstr(text, "\n  all            0        -        -"));
	assert_non_null(strstr(text, "\nnote: 5 expiries missed"));
	assert_non_null(
		strstr(text, "\nnote: 6 spikes occurred during a capture and were not recorded"));
	assert_non_null(strstr(text, "\ncaptures: 0 complete, 1 failed, in 0ns\n"));
}

TEST(prints_what_is_no_span)
{
	struct result_row row = { .cpu = 3 };
	struct results results = { .kinds[PERF_POKE_TRIGGER_SPAN].rows = &row, .nr_rows = 1 };
	struct perf_poke_stats *stats = &results.kinds[PERF_POKE_TRIGGER_SPAN].all.stats;
	char *text = print(&results);

	assert_null(strstr(text, "note"));
	free(text);
	stats->not_entered = 1;
	stats->no_room = 3;
	text = print(&results);
	assert_non_null(strstr(text, "\nnote: of the span not measured: 1 exit without an entry, 3 "
				     "entries beyond the spans that can be open\n"));
	free(text);
	*stats = (struct perf_poke_stats){ .reentered = 2, .thread_died = 1 };
	text = print(&results);
	assert_non_null(strstr(text,
			       "\nnote: of the span not measured: 2 entries in an open span, 1 "
			       "thread that ended before its exit\n"));
	free(text);
}

TEST(prints_captures)
{
	struct perf_poke_capture captures[] = {
		{ .path = "out dir/1",
		  .recorder = "events",
		  .spike = &(struct perf_poke_spike){ .latency_ns = 83245,
						      .cpu = 3,
						      .ran_cpu = 3,
						      .function_name = "hrtimer_wakeup",
						      .pid = 12,
						      .tid = 12,
						      .comm = "st\033ress" },
		  .history_ns = 98765432,
		  .events = 4567,
		  .lost = 2,
		  .size = 3355443,
		  .skid_ns = 12345,
		  .blind_ns = 1234567 },
		{ .path = "2",
		  .recorder = "events",
		  .spike = &(struct perf_poke_spike){ .function = 0xffffffff81000000,
						      .idle = true } },
		{ .path = "3",
		  .recorder = "events",
		  .spike = &(struct perf_poke_spike){ .comm = "0123456789abcdef",
						      .pid = 12,
						      .tid = 13,
						      .ran_cpu = 1 } },
		{ .path = "4",
		  .recorder = "events",
		  .spike = &(struct perf_poke_spike){ .poked = true, .cpu = -1 } },
	};
	const struct results results = { .captures = captures,
					 .nr_captures = ARRAY_SIZE(captures) };
	_cleanup_free_ char *text = print(&results);

	assert_non_null(strstr(text, "\ncapture 1: out dir/1\n"
				     "  latency      83.2us on CPU 3\n"
				     "  timer        hrtimer_wakeup\n"
				     "  interrupted  st ress/12\n"
				     "  history      98.8ms, 4567 events, 2 lost, 3.2M (events)\n"
				     "  skid         12.3us, re-armed after 1.23ms\n"
				     "  why          perf-poke-ctl report 'out dir/1'\n"
				     "  open         perf-poke-ctl script 'out dir/1'\n"
				     "               perf script -i 'out dir/1/perf.data'\n"));
	assert_non_null(strstr(text, "  open         perf-poke-ctl script 2\n"
				     "               perf script -i 2/perf.data\n"));
	assert_non_null(strstr(text, "  timer        0xffffffff81000000\n  interrupted  idle\n"));
	assert_non_null(strstr(text, "  interrupted  0123456789abcdef/12, thread 13\n"));
	assert_non_null(strstr(text, " on CPU 0, ran on CPU 1 (not watched)\n"));
	assert_non_null(strstr(text, "\ncapture 4: 4\n  reason       poked\n  history"));
}

TEST(prints_spikes_of_threads)
{
	struct perf_poke_capture captures[] = {
		{ .spike = &(struct perf_poke_spike){ .kind = PERF_POKE_TRIGGER_THREAD,
						      .latency_ns = 50000,
						      .irq_ns = 10000,
						      .thread_ns = 50000,
						      .function_name = "timerlat_irq",
						      .idle = true,
						      .has_noise = true,
						      .noise_irq_ns = 10000,
						      .noise_thread_ns = 30000 } },
		{ .spike = &(struct perf_poke_spike){ .kind = PERF_POKE_TRIGGER_USER,
						      .latency_ns = 60000,
						      .irq_ns = 10000,
						      .thread_ns = 50000,
						      .user_ns = 60000,
						      .rtla = true,
						      .idle = true,
						      .has_noise = true } },
		{ .spike = &(struct perf_poke_spike){ .irq_ns = 10000,
						      .idle = true,
						      .has_noise = true,
						      .noise_nmi_ns = 1 } },
		{ .spike = &(struct perf_poke_spike){ .kind = PERF_POKE_TRIGGER_WAKEUP,
						      .latency_ns = 70000,
						      .comm = "stress",
						      .pid = 7,
						      .tid = 7 } },
	};
	static const char *const expected[] = {
		"latency      50us on CPU 0, of the thread (irq 10us, thread 50us)\n"
		"  timer        timerlat_irq\n"
		"  interrupted  idle\n"
		"  noise        irq 10us (25%), thread 30us (75%) of the 40us after the "
		"interrupt\n",
		"latency      60us on CPU 0, of the user, as rtla saw it (irq 10us, thread 50us, "
		"user "
		"60us)\n"
		"  interrupted  idle\n"
		"  noise        none of the 50us after the interrupt\n",
		"latency      0ns on CPU 0\n"
		"  timer        0x0\n"
		"  interrupted  idle\n",
		"latency      70us on CPU 0, of the wakeup\n  ran instead  stress/7\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(captures); i++) {
		const struct results results = { .captures = &captures[i], .nr_captures = 1 };
		_cleanup_free_ char *text = NULL;

		captures[i].path = "a";
		captures[i].recorder = "events";
		text = print(&results);
		*strstr(text, "  history") = '\0';
		assert_string_equal(strstr(text, "latency"), expected[i]);
	}
}

/* Of a trace there are bytes to tell, and no events. */
TEST(prints_traces)
{
	const struct perf_poke_spike none = { 0 };
	struct perf_poke_capture captures[] = {
		{ .spike = &none,
		  .recorder = "pt",
		  .path = "1",
		  .history_ns = 3000000,
		  .size = 3355443,
		  .skid_ns = 12345,
		  .blind_ns = 1234567,
		  .trace_bytes = 2000000,
		  .bytes_after_spike = 512,
		  .bytes_after_spike_exact = true },
		{ .spike = &none,
		  .recorder = "pt",
		  .path = "2",
		  .history_ns = 3000000,
		  .trace_bytes = 1,
		  .bytes_after_spike = 512 },
		{ .spike = &none,
		  .recorder = "pt",
		  .path = "3",
		  .trace_bytes = 1,
		  .bytes_after_spike = 512 },
		{ .spike = &none,
		  .recorder = "pt",
		  .path = "4",
		  .history_ns = UINT64_MAX,
		  .trace_bytes = 1,
		  .bytes_after_spike = UINT64_MAX },
	};
	const struct results results = { .captures = captures,
					 .nr_captures = ARRAY_SIZE(captures) };
	_cleanup_free_ char *text = print(&results);

	assert_non_null(strstr(text,
			       "\n  history      3ms, 1.9M of trace, 3.2M (pt)\n"
			       "  skid         12.3us, 512B of trace after the spike, re-armed "
			       "after 1.23ms\n"));
	assert_non_null(strstr(text, "  skid         0ns, at most 512B of trace after"));
	assert_non_null(strstr(text, "  skid         0ns, more than 512B of trace after"));
	assert_non_null(strstr(text, "  history      unknown length, 1B of trace, 0B (pt)\n"
				     "  skid         0ns, re-armed after 0ns\n"));
	assert_null(strstr(text, " events"));
}

/* Whoever has the trace, says so. */
TEST(prints_perf)
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
	_cleanup_free_ char *text = print(&results);

	assert_null(strstr(text, "perf-poke-ctl script"));
	assert_non_null(strstr(text, "\n\nperf 7: exit status 1\n"
				     "  open         perf script -i 'a b'\n"
				     "               perf script -i c\n\ncaptures: 1 "));
}

/* A result outlives the callback that brought it. */
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

/* What does not stay is told of by its number only. */
TEST(prints_what_remains)
{
	static const char *const paths[] = { "a", "b", "c", "d", "e" };
	_cleanup_(results_release) struct results results = { .keeps = true };
	_cleanup_free_ char *text = NULL;

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
	assert_int_equal(results_taken(&results), 5);
	text = print(&results);
	assert_non_null(strstr(text, "\ncapture 1: a\n"));
	assert_null(strstr(text, ": b\n"));
	assert_non_null(strstr(text, "\ncapture 3: c\n"));
	assert_non_null(strstr(text, "\ncapture 4: d\n"));
	assert_non_null(strstr(text, "\ncaptures: 5 complete, 3 kept (1,3-4), 0 failed, in "));
}
