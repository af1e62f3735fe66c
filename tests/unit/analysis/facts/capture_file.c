// SPDX-License-Identifier: GPL-2.0-only
/* The facts; lib/capture/capture_read tests the rest. */
#include <string.h>

#include "opened.h"

#define CAPTURE(spike, recorder, more)                                                             \
	"{'schema':1,'spike':{" spike "},'recorder':{" recorder "}" more "}"
#define EVENTS(spike, more) CAPTURE("'time_ns':5," spike, "'kind':'events'", more)
#define PT(spike, clock, more)                                                                     \
	CAPTURE("'cpu':3," spike, "'kind':'pt','freeze':'sample','clock':{" clock "}", more)

/* The facts stay valid without the file. */
static int read_text(struct facts *facts, const char *text)
{
	_cleanup_(capture_file_close) struct capture_file file;
	_cleanup_free_ char *why = NULL;
	int r = open_text(&file, text, &why);

	*facts = file.facts;
	return r;
}

/* null if TSC was not perf's clock; earlier versions wrote 0. */
TEST_IN_FOLDER(reads_traces_without_times)
{
	static const char *const texts[] = {
		PT("'time_ns':5", "'monotonic_ns':9,'perf_ns':null", ""),
		PT("'time_ns':5", "'monotonic_ns':9,'perf_ns':0", "")
	};
	struct facts facts;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_int_equal(read_text(&facts, texts[i]), 0);
		assert_true(facts.no_times && facts.ends_at_spike && facts.sampled);
		assert_int_equal(facts.spike.time_ns, 5);
	}
}

TEST_IN_FOLDER(reads_the_rest_by_path)
{
	_cleanup_(capture_file_close) struct capture_file file;
	char *why = NULL;

	assert_int_equal(
		open_text(&file,
			  EVENTS("'cpu':-1", ",'history_ns':9,'kernel':{'version':'#1 SMP'}"),
			  &why),
		0);
	assert_int_equal(file.facts.recorder, PERF_POKE_RECORDER_EVENTS);
	assert_int_equal(file.facts.spike.expected_ns, 5);
	assert_int_equal(capture_file_number(&file, "history_ns", 7), 9);
	assert_int_equal(capture_file_number(&file, "hardware.smis", 7), 7);
	assert_string_equal(capture_file_text(&file, "kernel.version"), "#1 SMP");
	assert_string_equal(capture_file_text(&file, "kernel.release"), "");
}

TEST_IN_FOLDER(refuses)
{
#define CLOCK "recorder.clock.monotonic_ns is missing or not a non-negative integer"
#define ONLY "only captures of 64 bits, little-endian, are read here"
	static const struct {
		const char *text;
		const char *why;
	} rows[] = {
		{ CAPTURE("'time_ns':5,'cpu':1", "'kind':'ta\\npe'", ""),
		  "recorder.kind 'ta pe' is unknown to this version" },
		{ PT("'time_ns':5", "", ""), CLOCK },
		{ PT("'time_ns':5", "'monotonic_ns':-5", ""), CLOCK },
		{ PT("'time_ns':5", "'monotonic_ns':9,'perf_ns':3", ""),
		  "recorder.clock: the spike is before the clock's start" },
		{ EVENTS("'cpu':1", ",'machine':{'word_bits':32,'byte_order':'little'}"),
		  "machine: taken on one of 32 bits, little-endian: " ONLY },
		{ EVENTS("'cpu':1", ",'machine':{'word_bits':64,'byte_order':'big'}"),
		  "machine: taken on one of 64 bits, big-endian: " ONLY },
		{ "", "empty file" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(capture_file_close) struct capture_file file;
		_cleanup_free_ char *why = NULL;

		assert_int_equal(open_text(&file, rows[i].text, &why), -EINVAL);
		assert_string_equal(why, rows[i].why);
	}
}

/* Times of the trace are in perf's clock, those of the file in CLOCK_MONOTONIC. */
TEST_IN_FOLDER(reads_a_capture)
{
	struct facts facts;
	char task[64];

	assert_int_equal(
		read_text(
			&facts,
			PT("'latency_ns':50,'time_ns':1160,'expected_ns':1100,'actual_ns':1150,"
			   "'function_address':'0x10','pid':7,'tid':8,'comm':'a\\u009bb','trigger':"
			   "'thread'",
			   "'monotonic_ns':1000,'perf_ns':400",
			   ",'kernel':{'release':'7.3'},'machine':{'cpu':'486','hostname':'lab'}")),
		0);
	assert_true(facts_is_pt(&facts) && facts_is_thread(&facts));
	assert_int_equal(facts.spike.expected_ns, 500);
	assert_int_equal(facts.spike.actual_ns, 550);
	assert_int_equal(facts.spike.time_ns, 560);
	assert_int_equal((int64_t)facts.to_clock_ns, -600);
	assert_string_equal(facts.function, "0x10");
	assert_string_equal(facts.release, "7.3");
	assert_string_equal(facts.hostname, "lab");
	assert_string_equal(facts.model, "486");
	assert_string_equal(facts_format_task(&facts, task, sizeof(task)), "a b/7, thread 8");
}

TEST_IN_FOLDER(puts_times_in_order)
{
#define TIMES(spike) PT(spike, "'monotonic_ns':0,'perf_ns':0", "")
	static const char *const texts[] = {
		TIMES("'time_ns':5,'latency_ns':100"),
		TIMES("'time_ns':5,'actual_ns':9,'expected_ns':7"),
		TIMES("'time_ns':9,'actual_ns':5,'expected_ns':7"),
	};
	struct facts facts;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_int_equal(read_text(&facts, texts[i]), 0);
		assert_true(facts.spike.expected_ns <= facts.spike.actual_ns);
		assert_true(facts.spike.actual_ns <= facts.spike.time_ns);
		assert_int_equal(facts.spike.latency_ns,
				 facts.spike.actual_ns - facts.spike.expected_ns);
	}
	/* The clock began after the spike. */
	assert_int_equal(read_text(&facts, PT("'time_ns':9,'actual_ns':8,'expected_ns':2",
					      "'monotonic_ns':8,'perf_ns':1", "")),
			 -EINVAL);
}

TEST_IN_FOLDER(cuts_characters_whole)
{
	_cleanup_free_ char *text = NULL;
	struct facts facts;
	char name[79];

	memset(name, 'a', sizeof(name));
	/* 79 bytes are kept: the last character would be cut in half. */
	assert_true(asprintf(&text, EVENTS("'cpu':1", ",'machine':{'hostname':'%.78s\xc3\xa4'}"),
			     name) > 0);
	assert_int_equal(read_text(&facts, text), 0);
	assert_int_equal(strlen(facts.hostname), 79);
	assert_int_equal(facts.hostname[78], '?');
}

#define KERNEL(symbol, module)                                                                     \
	"{'address':'0xffffffffc0001234','symbol':" symbol ",'module':" module                     \
	",'offset':7,'user':false}"
#define USER(file, offset)                                                                         \
	"{'address':'0x4321','file':" file ",'build_id':null,'offset':" offset ",'user':true}"

TEST_IN_FOLDER(names_frames)
{
	static const char *const names[] = { "acme_flush", "[0xffffffffc0001234]", "libc.so.6+0x22",
					     "[0x4321]", "[0x4321]" };
	struct facts facts;

	assert_int_equal(
		read_text(&facts,
			  EVENTS("'cpu':1,'irqs_off':false,'stack_tid':9,'stack':"
				 "[" KERNEL("'acme_flush'", "'acme'") "," KERNEL(
					 "null",
					 "null") "," USER("'/lib/libc.so.6'",
							  "34") "," USER("null",
									 "34") "," USER("'/a'",
											"null") "]",
				 "")),
		0);
	assert_int_equal(facts.stack.nr, ARRAY_SIZE(names));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_string_equal(facts.stack.frames[i].name, names[i]);
		assert_int_equal(facts.stack.frames[i].user, i > 1);
		assert_int_equal(facts.stack.frames[i].function, i == 0);
	}
	assert_string_equal(facts.stack.frames[0].module, "acme");
	assert_int_equal(facts.stack.tid, 9);
	assert_int_equal(facts.stack.irqs, IRQS_WERE_ON);
	assert_int_equal(facts.holder.nr, 0);
	assert_int_equal(
		read_text(&facts,
			  EVENTS("'cpu':1,'holder':{'tid':7,'interrupted':true,'stack':[" KERNEL(
					 "'foo'", "null") "]}",
				 "")),
		0);
	assert_int_equal(facts.stack.irqs, IRQS_NOT_KNOWN);
	assert_int_equal(facts.holder.nr, 1);
	assert_int_equal(facts.holder.tid, 7);
	assert_true(facts.holder.interrupted);
	assert_string_equal(facts.holder.frames[0].name, "foo");
}

/* What is null, malformed or missing was not counted. */
TEST_IN_FOLDER(reads_hardware)
{
	struct facts facts;

	assert_int_equal(
		read_text(&facts, EVENTS("'cpu':1", ",'hardware':{'since_ns':9,'smis':null,'steal_"
						    "ns':3,'nmis':-1,'idle_states':["
						    "{'name':'C\\u001b6','exit_latency_ns':133000},"
						    "{'name':'C9','exit_latency_ns':null}]}")),
		0);
	assert_int_equal(facts.hardware.since_ns, 9);
	assert_int_equal(facts.hardware.steal_ns, 3);
	assert_true(facts.hardware.smis == UINT64_MAX && facts.hardware.throttles == UINT64_MAX);
	assert_true(facts.hardware.nmis == UINT64_MAX);
	assert_int_equal(facts.hardware.nr_states, 1);
	assert_int_equal(facts.hardware.states[0].exit_ns, 133000);
	assert_null(strchr(facts.hardware.states[0].name, '\033'));
}

static void read_statistics(struct statistics *statistics, const char *text)
{
	_cleanup_(capture_file_close) struct capture_file file;
	char *why = NULL;

	assert_int_equal(open_text(&file, text, &why), 0);
	capture_statistics(statistics, &file);
}

TEST_IN_FOLDER(reads_statistics)
{
	_cleanup_free_ char *rows = WRITTEN(file, for (int i = 0; i < STATISTICS_ROWS_MAX; i++)
							  fprintf(file, "[%d,%d,1],", i, i + 1);
					    fputs("[999,null,1]", file));
	_cleanup_free_ char *text = NULL;
	struct statistics statistics;

	read_statistics(&statistics,
			EVENTS("'cpu':1", ",'statistics':{'cpu':null,'count':9,'min_ns':1,'avg_ns':"
					  "2,'p50_ns':3,'p99_ns':4,"
					  "'p99_9_ns':5,'max_ns':6,'spikes':7,'unarmed':8,'"
					  "histogram':[[0,16,8],[64,null,1]]}"));
	assert_int_equal(statistics.cpu, -1);
	assert_int_equal(statistics.count, 9);
	assert_int_equal(statistics.p99_9_ns, 5);
	assert_int_equal(statistics.unarmed, 8);
	assert_int_equal(statistics.nr, 2);
	assert_int_equal(statistics.rows[0].high_ns, 16);
	assert_true(statistics.rows[1].high_ns == UINT64_MAX);
	assert_true(asprintf(&text, EVENTS("'cpu':1", ",'statistics':{'histogram':[%s]}"), rows) >
		    0);
	read_statistics(&statistics, text);
	assert_int_equal(statistics.nr, STATISTICS_ROWS_MAX);
	read_statistics(&statistics, EVENTS("'cpu':1", ""));
	assert_int_equal(statistics.count, 0);
}
