// SPDX-License-Identifier: GPL-2.0-only
#include "output/fxt.h"
#include "test.h"

#define SPIKE UINT64_C(7873179004)

static void is(const char *s, uint64_t begin, uint64_t end)
{
	uint64_t from = 1, to = 2;

	assert_int_equal(time_window_parse(s, SPIKE, &from, &to), 0);
	assert_int_equal(from, begin);
	assert_int_equal(to, end);
}

static void fails(const char *s, uint64_t spike, int r)
{
	uint64_t from = 1, to = 2;

	assert_int_equal(time_window_parse(s, spike, &from, &to), r);
	assert_int_equal(from, 1);
	assert_int_equal(to, 2);
}

TEST(reads_relative)
{
	is("-200us,50us", SPIKE - 200000, SPIKE + 50000);
	is("-200,+50", SPIKE - 200000, SPIKE + 50000);
	is("-1.5ms,-0", SPIKE - 1500000, SPIKE);
	is("0,1ns", SPIKE, SPIKE + 1);
	is("-1h,0", 0, SPIKE);
}

TEST(reads_absolute)
{
	is("7.782616917,7.782616943", 7782616917, 7782616943);
	is("7.7,8.0", 7700000000, 8000000000);
	is("7.782616917,0", 7782616917, SPIKE);
}

TEST(reads_open)
{
	is(",", 0, UINT64_MAX);
	is("-1us,", SPIKE - 1000, UINT64_MAX);
	is(",7.9", 0, 7900000000);
}

TEST(refuses)
{
	fails("", SPIKE, -EINVAL);
	fails("-5us", SPIKE, -EINVAL);
	fails("-5us,5us,6us", SPIKE, -EINVAL);
	fails("a,b", SPIKE, -EINVAL);
	fails("--5,5", SPIKE, -EINVAL);
	fails("7.,8.0", SPIKE, -EINVAL);
	fails("7.0000000001,8.0", SPIKE, -EINVAL);
	fails("7.0.0,8.0", SPIKE, -EINVAL);
	fails("5us,5us", SPIKE, -ERANGE);
	fails("0,-1", SPIKE, -ERANGE);
	fails("99999999999999.0,", SPIKE, -ERANGE);
	fails("-5us,", 0, -ENOENT);
}
