// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "machine/base.h"

#include <errno.h>
#include <sched.h>

#include "test.h"
#include "util.h"

TEST(reads)
{
	struct scheduling s;

	assert_int_equal(scheduling_parse("f:95", &s), 0);
	assert_int_equal(s.size, 48);
	assert_int_equal(s.policy, SCHED_FIFO);
	assert_int_equal(s.priority, 95);
	assert_int_equal(scheduling_parse("r:1", &s), 0);
	assert_int_equal(s.policy, SCHED_RR);
	assert_int_equal(s.priority, 1);
	assert_int_equal(scheduling_parse("o:-20", &s), 0);
	assert_int_equal(s.policy, SCHED_OTHER);
	assert_int_equal(s.priority, 0);
	assert_int_equal(s.nice, -20);
	assert_int_equal(scheduling_parse("d:500:1ms", &s), 0);
	assert_int_equal(s.policy, 6);
	assert_int_equal(s.runtime, 500000);
	assert_int_equal(s.deadline, 1000000);
	assert_int_equal(s.period, 1000000);
}

TEST(refuses)
{
	static const char *const bad[] = { "",		"f",	  "f:",	   "f:0",   "f:100",
					   "f:1x",	"r:0",	  "r:100", "o:20",  "o:-21",
					   "x:1",	"95",	  "d:",	   "d:1ms", "d:2ms:1ms",
					   "d:1ns:1ms", "d:x:1ms" };
	struct scheduling s;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(scheduling_parse(bad[i], &s), -EINVAL);
}

TEST(writes_as_it_reads)
{
	static const char *const all[] = { "f:95", "r:3", "o:-5", "d:500000ns:1000000ns" };
	struct scheduling s;
	char text[64];

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		assert_int_equal(scheduling_parse(all[i], &s), 0);
		scheduling_format(&s, text, sizeof(text));
		assert_string_equal(text, all[i]);
	}
}

TEST(gets_our_own)
{
	struct scheduling s;

	assert_int_equal(scheduling_get(0, &s), 0);
	assert_int_equal(s.policy, sched_getscheduler(0));
}
