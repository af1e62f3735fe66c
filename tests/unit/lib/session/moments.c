// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/moments.h"

#include "test.h"
#include "util.h"

#define INTERVAL_NS UINT64_C(1000)
#define MOMENTS 10000
#define PARTS 10

/* The first numbers of SplitMix64 with this seed, as others have published them. */
#define SEED 1234567
static const uint64_t drawn[] = { 6457827717110365317U, 3203168211198807973U,
				  9817491932198370423U };

TEST(a_seed_decides)
{
	struct moments moments = { .state = SEED, .interval_ns = INTERVAL_NS };

	assert_int_equal(moments_next(&moments, 5000), 5000 + drawn[0] % INTERVAL_NS);
	assert_int_equal(moments_next(&moments, 5999), 6000 + drawn[1] % INTERVAL_NS);
	assert_int_equal(moments_pick(&moments, 7), drawn[2] % 7);
}

/* One in each interval, and anywhere in it. */
TEST(moments_are_evenly_distributed)
{
	struct moments moments = { .state = SEED, .interval_ns = INTERVAL_NS };
	unsigned int parts[PARTS] = {};
	uint64_t now_ns = 0;

	for (uint64_t i = 0; i < MOMENTS; i++) {
		now_ns = moments_next(&moments, now_ns);
		assert_int_equal(now_ns / INTERVAL_NS, i);
		parts[now_ns % INTERVAL_NS * PARTS / INTERVAL_NS]++;
	}
	for (size_t i = 0; i < PARTS; i++)
		assert_in_range(parts[i], MOMENTS / PARTS * 9 / 10, MOMENTS / PARTS * 11 / 10);
}

TEST(intervals_that_have_passed_are_left_out)
{
	struct moments moments = { .state = SEED, .interval_ns = INTERVAL_NS };

	moments_next(&moments, 0);
	assert_in_range(moments_next(&moments, 77700), 77700, 78699);
	assert_in_range(moments_next(&moments, 77701), 78700, 79699);
}

TEST(picks_all)
{
	struct moments moments = { .state = SEED };
	unsigned int picked[3] = {};

	for (int i = 0; i < 3000; i++) {
		size_t one = moments_pick(&moments, ARRAY_SIZE(picked));

		assert_in_range(one, 0, ARRAY_SIZE(picked) - 1);
		picked[one]++;
	}
	for (size_t i = 0; i < ARRAY_SIZE(picked); i++)
		assert_in_range(picked[i], 900, 1100);
}

int main(void)
{
	return run_all(NULL, NULL);
}
