// SPDX-License-Identifier: GPL-2.0-only
#include "capture/capture_facts.h"
#include "test.h"

#include <string.h>

#define PT(spike, clock)                                                                           \
	"{\"schema\":1,\"spike\":{\"cpu\":3," spike "},\"recorder\":{\"kind\":\"pt\","             \
	"\"clock\":{" clock "}}"

static int read_text(struct facts *facts, const char *text)
{
	_cleanup_free_ char *why = NULL;
	struct capture_file file;

	assert_int_equal(capture_file_parse(&file, text, strlen(text), &why), 0);
	return capture_facts(facts, &file);
}

TEST(reads_a_capture)
{
	struct facts facts;
	char task[64];

	assert_int_equal(
		read_text(
			&facts,
			PT("\"latency_ns\":50,\"time_ns\":1160,\"expected_ns\":1100,"
			   "\"actual_ns\":1150,\"function\":null,\"function_address\":\"0x10\","
			   "\"pid\":7,\"tid\":8,\"comm\":\"a\\u009bb\",\"idle\":false,"
			   "\"trigger\":\"thread\",\"wall_time\":\"2026-11-21T07:01:43.081833Z\"",
			   "\"monotonic_ns\":1000,\"perf_ns\":400") ",\"threshold_ns\":40,\"skid_"
								    "ns\":3,\"events\":2,\"lost\":"
								    "1,"
								    "\"history_ns\":9,\"kernel\":{"
								    "\"release\":\"7.3\"},"
								    "\"machine\":{\"cpu\":\"486\","
								    "\"hostname\":\"lab\"}}"),
		0);
	assert_true(facts.pt && facts.thread);
	assert_false(facts.poked || facts.idle);
	assert_int_equal(facts.cpu, 3);
	assert_int_equal(facts.expected_ns, 500);
	assert_int_equal(facts.actual_ns, 550);
	assert_int_equal(facts.time_ns, 560);
	assert_int_equal((int64_t)facts.to_clock_ns, -600);
	assert_int_equal(facts.latency_ns, 50);
	assert_int_equal(facts.threshold_ns, 40);
	assert_int_equal(facts.skid_ns, 3);
	assert_int_equal(facts.events, 2);
	assert_int_equal(facts.lost, 1);
	assert_int_equal(facts.history_ns, 9);
	assert_string_equal(facts.function, "0x10");
	assert_string_equal(facts.wall_time, "2026-11-21T07:01:43.081833Z");
	assert_string_equal(facts.release, "7.3");
	assert_string_equal(facts.hostname, "lab");
	assert_string_equal(facts.model, "486");
	assert_string_equal(facts_task(&facts, task, sizeof(task)), "a b/7, thread 8");
}

TEST(puts_times_in_order)
{
	static const char *const texts[] = {
		PT("\"time_ns\":5,\"latency_ns\":100", "\"monotonic_ns\":0,\"perf_ns\":0") "}",
		PT("\"time_ns\":5,\"actual_ns\":9,\"expected_ns\":7",
		   "\"monotonic_ns\":0,\"perf_ns\":0") "}",
		PT("\"time_ns\":9,\"actual_ns\":5,\"expected_ns\":7",
		   "\"monotonic_ns\":0,\"perf_ns\":0") "}",
		PT("\"time_ns\":9,\"threshold_ns\":null", "\"monotonic_ns\":0,\"perf_ns\":0") "}",
	};
	struct facts facts;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		assert_int_equal(read_text(&facts, texts[i]), 0);
		assert_true(facts.expected_ns <= facts.actual_ns);
		assert_true(facts.actual_ns <= facts.time_ns);
		assert_int_equal(facts.latency_ns, facts.actual_ns - facts.expected_ns);
	}
	/* The clock began after the spike. */
	assert_int_equal(read_text(&facts, PT("\"time_ns\":9,\"actual_ns\":8,\"expected_ns\":2",
					      "\"monotonic_ns\":8,\"perf_ns\":1") "}"),
			 -EINVAL);
}

TEST(cuts_characters_whole)
{
	struct facts facts;

	/* 31 bytes are kept: the last character would be cut in half. */
	assert_int_equal(read_text(&facts, PT("\"time_ns\":9,\"comm\":\""
					      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\xc3\xa4\"",
					      "\"monotonic_ns\":0,\"perf_ns\":0") "}"),
			 0);
	assert_string_equal(facts.comm, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa?");
}
