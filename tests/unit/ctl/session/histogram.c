// SPDX-License-Identifier: GPL-2.0-only
#include "session/histogram.h"

#include <stdlib.h>

#include "test.h"
#include "util.h"

static char *print(const struct perf_poke_bucket *buckets, size_t nr)
{
	return WRITTEN(file, histogram_print(file, buckets, nr));
}

TEST(prints_rows)
{
	static const struct perf_poke_bucket buckets[] = {
		{ 0, 1, 1 },	   { 508, 512, 2 },   { 512, 520, 4 },
		{ 1016, 1024, 3 }, { 4096, 4160, 1 }, { 8128, 8192, 1 },
	};
	_cleanup_free_ char *text = print(buckets, ARRAY_SIZE(buckets));

	assert_string_equal(text, "  latency                 expiries  each # doubles\n"
				  "       0ns - 512ns               3  ##\n"
				  "     512ns - 1.02us              7  ###\n"
				  "    1.02us - 2.05us              0\n"
				  "    2.05us - 4.1us               0\n"
				  "     4.1us - 8.19us              2  ##\n");
}

TEST(prints_nothing)
{
	_cleanup_free_ char *text = print(NULL, 0);

	assert_string_equal(text, "");
}

/* For any spread there are few rows, and no expiry is left out. */
TEST(keeps_to_its_size)
{
	for (int low = 0; low < 64; low++) {
		for (int high = low; high < 64; high++) {
			const uint64_t end = high < 63 ? UINT64_C(2) << high : UINT64_MAX;
			const struct perf_poke_bucket buckets[] = {
				{ UINT64_C(1) << low, (UINT64_C(1) << low) + 1, 16 },
				{ end - 1, end, 32 },
			};
			_cleanup_free_ char *text = print(buckets, ARRAY_SIZE(buckets));
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
