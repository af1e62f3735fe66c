// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "units.h"
#include "test.h"

struct parsed {
	const char *text;
	int r;
	uint64_t value;
};

static void check_parsed(int (*parse)(const char *, uint64_t *), const struct parsed *rows,
			 size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const uint64_t untouched = 4711;
		uint64_t value = untouched;
		int r = parse(rows[i].text, &value);

		if (r != rows[i].r)
			print_error("'%s'\n", rows[i].text);
		assert_int_equal(r, rows[i].r);
		assert_int_equal(value, r ? untouched : rows[i].value);
	}
}

TEST(parses_times)
{
	static const struct parsed rows[] = {
		{ "30", 0, 30000 },
		{ "0", 0, 0 },
		{ "7ns", 0, 7 },
		{ "30us", 0, 30000 },
		{ "1.5ms", 0, 1500000 },
		{ "2s", 0, 2000000000 },
		{ "3m", 0, 180000000000 },
		{ "2h", 0, 7200000000000 },
		{ "1.5d", 0, 129600000000000 },
		{ "0.25", 0, 250 },
		{ "0.1m", 0, 6000000000 },
		{ "1.123456789s", 0, 1123456789 },
		{ "1.0009us", 0, 1000 },
		{ "0.99999999999999999999999ns", 0, 0 },
		{ "007us", 0, 7000 },
		{ "18446744073709551615ns", 0, UINT64_MAX },
		{ "18446744073.709551615s", 0, UINT64_MAX },
		{ "18446744073709551616ns", -ERANGE },
		{ "18446744073.709551616s", -ERANGE },
		{ "99999999999999999999999h", -ERANGE },
		{ "5124096h", -ERANGE },
		{ "99999999999999999999999x", -EINVAL },
		{ "", -EINVAL },
		{ "us", -EINVAL },
		{ "-1us", -EINVAL },
		{ "+1us", -EINVAL },
		{ " 1us", -EINVAL },
		{ "1us ", -EINVAL },
		{ "1 us", -EINVAL },
		{ "30xs", -EINVAL },
		{ "30US", -EINVAL },
		{ "1.us", -EINVAL },
		{ ".5us", -EINVAL },
		{ "1.2.3s", -EINVAL },
		{ "1,5ms", -EINVAL },
		{ "1e3", -EINVAL },
		{ "0x10", -EINVAL },
		{ "2h03m", -EINVAL },
	};

	check_parsed(units_parse_time, rows, ARRAY_SIZE(rows));
}

TEST(parses_durations)
{
	static const struct parsed rows[] = {
		{ "3600", 0, 3600000000000 }, { "1.5", 0, 1500000000 },
		{ "90s", 0, 90000000000 },    { "20ms", 0, 20000000 },
		{ "2d", 0, 172800000000000 }, { "2D", -EINVAL },
		{ "99999999999", -ERANGE },
	};

	check_parsed(units_parse_duration, rows, ARRAY_SIZE(rows));
}

TEST(parses_sizes)
{
	static const struct parsed rows[] = {
		{ "4096", 0, 4096 },
		{ "512K", 0, 512 << 10 },
		{ "512k", 0, 512 << 10 },
		{ "16M", 0, 16 << 20 },
		{ "1g", 0, 1 << 30 },
		{ "17179869183G", 0, UINT64_C(17179869183) << 30 },
		{ "17179869184G", -ERANGE },
		{ "18446744073709551616", -ERANGE },
		{ "16MiB", -EINVAL },
		{ "16MB", -EINVAL },
		{ "1T", -EINVAL },
		{ "1.5M", -EINVAL },
		{ "M", -EINVAL },
		{ "", -EINVAL },
		{ "-1", -EINVAL },
		{ "1 M", -EINVAL },
	};

	check_parsed(units_parse_size, rows, ARRAY_SIZE(rows));
}

TEST(parses_counts)
{
	static const struct parsed rows[] = {
		{ "0", 0, 0 },
		{ "99", 0, 99 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE },
		{ "99999999999999999999x", -EINVAL },
		{ "1K", -EINVAL },
		{ "1.5", -EINVAL },
		{ "", -EINVAL },
		{ "-1", -EINVAL },
	};

	check_parsed(units_parse_count, rows, ARRAY_SIZE(rows));
}

TEST(formats_times)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} rows[] = {
		{ 0, "0ns" },
		{ 999, "999ns" },
		{ 1000, "1us" },
		{ 1024, "1.02us" },
		{ 30000, "30us" },
		{ 83245, "83.2us" },
		{ 99950, "100us" },
		{ 999499, "999us" },
		{ 999500, "1ms" },
		{ 1250000, "1.25ms" },
		{ 1005000, "1.01ms" },
		{ 59940000000, "59.9s" },
		{ 59960000000, "1m" },
		{ 60000000000, "1m" },
		{ 123000000000, "2m03s" },
		{ 3599499999999, "59m59s" },
		{ 3599500000000, "1h" },
		{ 7380000000000, "2h03m" },
		{ 31536000000000000, "8760h" },
		{ UINT64_MAX, "5124095h35m" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(FORMAT_TIME(rows[i].ns), rows[i].text);
}

TEST(formats_sizes)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} rows[] = {
		{ 0, "0B" },
		{ 1023, "1023B" },
		{ 1024, "1K" },
		{ 1536, "1.5K" },
		{ 1048524, "1023.9K" },
		{ 1048525, "1M" },
		{ 3355443, "3.2M" },
		{ 4 << 20, "4M" },
		{ UINT64_C(64) << 30, "64G" },
		{ UINT64_MAX, "17179869184G" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(FORMAT_SIZE(rows[i].bytes), rows[i].text);
}

TEST(formats_counts)
{
	assert_string_equal(FORMAT_COUNT(0, "spike", "spikes"), "0 spikes");
	assert_string_equal(FORMAT_COUNT(1, "spike", "spikes"), "1 spike");
	assert_string_equal(FORMAT_COUNT(2, "expiry", "expiries"), "2 expiries");
	assert_string_equal(FORMAT_COUNT(UINT64_MAX, "expiry", "expiries"),
			    "18446744073709551615 expiries");
}
