// SPDX-License-Identifier: GPL-2.0-only
#include "facts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void reads_a_capture(void **state)
{
	struct facts facts;
	char task[64];

	(void)state;
	assert_int_equal(
		facts_read(&facts, "{\"spike\":{\"cpu\":3,\"latency_ns\":50,\"time_ns\":1160,"
				   "\"expected_ns\":1100,\"actual_ns\":1150,\"function\":null,"
				   "\"function_address\":\"0x10\",\"pid\":7,\"tid\":8,"
				   "\"comm\":\"a\\u001bb\",\"idle\":false},"
				   "\"recorder\":{\"kind\":\"pt\",\"clock\":{\"monotonic_ns\":1000,"
				   "\"perf_ns\":400}},\"kernel\":{\"release\":\"7.3\"}}"),
		0);
	assert_true(facts.pt);
	assert_int_equal(facts.cpu, 3);
	assert_int_equal(facts.expected_ns, 500);
	assert_int_equal(facts.actual_ns, 550);
	assert_int_equal(facts.time_ns, 560);
	assert_int_equal(facts.latency_ns, 50);
	assert_string_equal(facts.function, "0x10");
	assert_string_equal(facts.release, "7.3");
	assert_string_equal(facts_task(&facts, task, sizeof(task)), "a b/7, thread 8");
}

static void takes_any_json(void **state)
{
	static const char *const texts[] = {
		"",
		"[]",
		"1",
		"{}",
		"{\"spike\":1,\"recorder\":[]}",
		"{\"spike\":{\"cpu\":\"x\",\"time_ns\":-1,\"actual_ns\":9223372036854775807}}",
		"{\"spike\":{\"time_ns\":5,\"latency_ns\":100}}",
		"{\"spike\":{\"time_ns\":9223372036854775807},\"recorder\":{\"kind\":\"pt\","
		"\"clock\":{\"monotonic_ns\":0,\"perf_ns\":9223372036854775807}}}",
		"{\"spike\":{\"time_ns\":5},\"recorder\":{\"kind\":\"pt\","
		"\"clock\":{\"monotonic_ns\":7,\"perf_ns\":1}}}",
		"{\"recorder\":{\"kind\":1}}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct facts facts;

		if (facts_read(&facts, texts[i]))
			continue;
		assert_true(facts.expected_ns <= facts.actual_ns);
		assert_true(facts.actual_ns <= facts.time_ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_a_capture),
		cmocka_unit_test(takes_any_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
