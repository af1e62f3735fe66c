// SPDX-License-Identifier: GPL-2.0-only
#include "commands/commands.h"

#include "clock.h"
#include "parsed.h"

#define PARSED_WORDS "perf-poke-ctl", "list"
PARSED_BY(struct list_args, list_parse_args, nothing_to_release)

TEST(maps_options)
{
	_cleanup_(release) struct parsed none = { 0 };
	_cleanup_(release) struct parsed all = { 0 };

	PARSE(&none);
	assert_int_equal(none.r, 0);
	assert_string_equal(none.args.folder, "perf-poke.data");
	assert_int_equal(none.args.order, LIST_BY_TIME);
	assert_null(none.args.cpus);
	assert_int_equal(none.args.min_latency_ns, 0);
	assert_int_equal(none.args.since_ns, 0);
	assert_false(none.args.json);
	assert_false(none.args.why);

	PARSE(&all, "-s", "latency", "--cpu", "3,1-2", "folder", "--min-latency", "50", "--json",
	      "--since", "2001-09-09", "-w");
	assert_int_equal(all.r, 0);
	assert_string_equal(all.args.folder, "folder");
	assert_int_equal(all.args.order, LIST_BY_LATENCY);
	assert_string_equal(all.args.cpus, "3,1-2");
	assert_int_equal(all.args.min_latency_ns, 50000);
	assert_int_equal(all.args.since_ns, 999993600 * NSEC_PER_SEC);
	assert_true(all.args.json);
	assert_true(all.args.why);
}

TEST(refuses)
{
	REFUSES("--sort 'age': not a sort (use time, latency, cpu, size)", "--sort", "age");
	REFUSES("--cpu 'x': not a list of CPUs (use 3 or 2,4-7)", "--cpu", "x");
	REFUSES("'b': unexpected argument", "a", "b");
	REFUSES("DIR: empty; a value is needed", "");
	REFUSES("--since '7': not a time (use 2026-11-21, '2026-11-21 07:01', or 2h for two "
		"hours ago)",
		"--since", "7");
}

TEST(reads_since)
{
	static const struct {
		const char *text;
		uint64_t since_s;
	} rows[] = {
		{ "2001-09-09", 999993600 },
		{ "2001-09-09 01:46", 999999960 },
		{ "2001-09-09 01:46:40", 1000000000 },
		{ "2001-09-09T01:46:40", 1000000000 },
		{ "2h", 2000000000 - 7200 },
		{ "90m", 2000000000 - 5400 },
		{ "1s", 2000000000 - 1 },
		{ "600000h", 0 },
	};
	static const char *const bad[] = {
		"",	      "5",	    "h",     "yesterday", "2001-09-09x",
		"2001-13-01", "1001-01-01", "01:46", "-2h",
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t since_ns = 1;

		assert_int_equal(
			list_parse_since(rows[i].text, 2000000000 * NSEC_PER_SEC, &since_ns), 0);
		assert_int_equal(since_ns, rows[i].since_s * NSEC_PER_SEC);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		uint64_t since_ns = 1;

		assert_int_equal(list_parse_since(bad[i], 2000000000 * NSEC_PER_SEC, &since_ns),
				 -EINVAL);
		assert_int_equal(since_ns, 1);
	}
}

TEST(filters)
{
	const struct perf_poke_spike spike = { .cpu = 3, .latency_ns = 50 };
	const struct perf_poke_capture file = { .spike = &spike, .wall_ns = 70 };
	const int other[] = { 1, 2 }, among[] = { 2, 3 };
	struct list_args args = { 0 };

	assert_true(list_wants_capture(&args, NULL, 0, &file));
	args.cpus = "given";
	assert_false(list_wants_capture(&args, other, 2, &file));
	assert_true(list_wants_capture(&args, among, 2, &file));
	args.min_latency_ns = 50;
	assert_true(list_wants_capture(&args, among, 2, &file));
	args.min_latency_ns = 51;
	assert_false(list_wants_capture(&args, among, 2, &file));
	args.min_latency_ns = 0;
	args.since_ns = 70;
	assert_true(list_wants_capture(&args, among, 2, &file));
	args.since_ns = 71;
	assert_false(list_wants_capture(&args, among, 2, &file));
}

#define ENTRY(name, bytes, when, on, late)                                                         \
	{                                                                                          \
		.size = bytes,                                                                     \
		.capture = &(const struct perf_poke_capture){                                      \
			.path = name,                                                              \
			.wall_ns = when,                                                           \
			.spike = &(const struct perf_poke_spike){ .cpu = on, .latency_ns = late }, \
		},                                                                                 \
	}

TEST(sorts)
{
	static const char *const expected[] = { "dbac", "bcda", "dacb", "cbda" };

	for (size_t order = 0; order < ARRAY_SIZE(expected); order++) {
		struct list_entry entries[] = {
			ENTRY("a", 9, 20, 0, 8),
			ENTRY("b", 2, 15, 5, 1),
			ENTRY("c", 1, 20, 4, 1),
			ENTRY("d", 9, 10, -1, 8),
		};
		char found[5] = "";

		/* With equal latencies the older capture comes first. */
		list_sort_entries(entries, ARRAY_SIZE(entries), order);
		for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
			found[i] = entries[i].capture->path[0];
		assert_string_equal(found, expected[order]);
	}
	list_sort_entries(NULL, 0, LIST_BY_TIME);
}

int main(void)
{
	setenv("TZ", "UTC0", 1);
	return run_all(NULL, NULL);
}
