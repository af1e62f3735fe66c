// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "machine/base.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>

static const struct perf_event_mmap_page two_ghz = {
	.time_zero = 123456789012,
	.time_mult = 1 << 30,
	.time_shift = 31,
	.cap_user_time_zero = 1,
};

TEST(converts)
{
	assert_int_equal(tsc_to_perf_ns(&two_ghz, 0), two_ghz.time_zero);
	assert_int_equal(tsc_to_perf_ns(&two_ghz, 2000000000000),
			 1000000000000 + two_ghz.time_zero);
	/* Months of uptime: the product exceeds 64 bits */
	assert_int_equal(tsc_to_perf_ns(&two_ghz, 1ULL << 54), (1ULL << 53) + two_ghz.time_zero);
}

/* The kernel keeps the factors when it no longer trusts TSC. */
TEST(knows_when_tsc_is_no_clock)
{
	struct perf_event_mmap_page page = two_ghz;

	assert_true(tsc_is_perf_clock(&page));
	page.cap_user_time_zero = 0;
	assert_false(tsc_is_perf_clock(&page));
	assert_false(tsc_is_perf_clock(&(struct perf_event_mmap_page){}));
}

TEST(extends)
{
	assert_int_equal(tsc_extend(5, 7), 5);
	assert_int_equal(tsc_extend(5, (3ULL << 56) + 7), (3ULL << 56) + 5);
	assert_int_equal(tsc_extend(9, (3ULL << 56) + 7), (2ULL << 56) + 9);
}

/* The values at the opening of the event may be stale. */
TEST(reads_anew)
{
	struct perf_event_mmap_page first, second;
	struct tsc_clock clock = {};
	int err = tsc_clock_open(&clock);

	if (err == -EACCES || err == -EPERM || err == -ENOSYS) {
		printf("skipped: no perf events for who has no rights here\n");
		skip();
	}
	assert_int_equal(err, 0);
	tsc_clock_read(&clock, &first);
	tsc_clock_read(&clock, &second);
	/* The kernel counts its updates. */
	assert_true(second.lock > first.lock);
	assert_int_equal(second.cap_user_time_zero, first.cap_user_time_zero);
	tsc_clock_close(&clock);
	tsc_clock_close(&clock);
}
