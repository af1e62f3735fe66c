// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "trigger/trigger.h"
#include "test.h"

#include <stdlib.h>

#define LAST (TRIGGER_BUCKETS - 1)
#define WIDEST_PERCENT 3

/* Each boundary from both sides: the buckets leave no gap, do not overlap and rise. */
TEST(boundaries_meet)
{
	assert_int_equal(bucket_low_ns(0), 0);
	assert_int_equal(trigger_bucket(0), 0);
	for (uint32_t i = 1; i <= LAST; i++) {
		uint64_t low_ns = bucket_low_ns(i);

		assert_true(low_ns > bucket_low_ns(i - 1));
		assert_int_equal(trigger_bucket(low_ns), i);
		assert_int_equal(trigger_bucket(low_ns - 1), i - 1);
	}
}

TEST(buckets_are_narrow)
{
	unsigned int checked = 0;

	for (uint32_t i = 0; i < LAST; i++) {
		uint64_t low_ns = bucket_low_ns(i), high_ns = bucket_low_ns(i + 1);

		if (high_ns <= 100 || low_ns > 1000000000)
			continue;
		if (low_ns < 100)
			low_ns = 100;
		assert_true((high_ns - low_ns) * 100 <= WIDEST_PERCENT * low_ns);
		checked++;
	}
	/* 100 ns to 1 s are 23 powers of two. */
	assert_true(checked > 23 * TRIGGER_SUB_BUCKETS);
	assert_true(bucket_low_ns(LAST) > 1000000000);
}

/* The header's definition, with division; the program shifts. */
static uint32_t expected_bucket(uint64_t latency_ns)
{
	uint64_t width_ns = 2;
	uint32_t first = 0;

	if (latency_ns >= 1ULL << 30)
		return LAST;
	for (uint64_t end_ns = 128; latency_ns >= end_ns; end_ns *= 2) {
		first += 64;
		if (end_ns > 128)
			width_ns *= 2;
	}
	return first + (first ? latency_ns - 64 * width_ns : latency_ns) / width_ns;
}

static void check_value(uint64_t latency_ns)
{
	uint32_t bucket = trigger_bucket(latency_ns);

	assert_int_equal(bucket, expected_bucket(latency_ns));
	assert_true(bucket_low_ns(bucket) <= latency_ns);
	if (bucket < LAST)
		assert_true(latency_ns < bucket_low_ns(bucket + 1));
}

TEST(values_fall_into_their_bucket)
{
	uint32_t previous = 0;

	srand48(1);
	for (uint64_t latency_ns = 0; latency_ns < 70000; latency_ns++) {
		check_value(latency_ns);
		assert_true(trigger_bucket(latency_ns) >= previous);
		previous = trigger_bucket(latency_ns);
	}
	for (unsigned int shift = 0; shift < 64; shift++) {
		check_value(1ULL << shift);
		check_value((1ULL << shift) - 1);
		check_value((1ULL << shift) + 1);
	}
	for (unsigned int i = 0; i < 200000; i++) {
		uint64_t random = (uint64_t)mrand48() << 32 | (uint32_t)mrand48();

		check_value(random >> (lrand48() % 64));
	}
}

TEST(last_bucket_takes_the_rest)
{
	assert_int_equal(trigger_bucket((1ULL << 30) - 1), LAST - 1);
	assert_int_equal(trigger_bucket(1ULL << 30), LAST);
	assert_int_equal(trigger_bucket(UINT64_MAX), LAST);
	assert_int_equal(bucket_low_ns(LAST), 1ULL << 30);
}
