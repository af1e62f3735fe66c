// SPDX-License-Identifier: GPL-2.0-only
#include "session/session_internal.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "helpers.h"

/* All that a label's value has to escape. */
#define HOSTILE "a\"b\\c\nd{}\xff"
#define ESCAPED "session=\"a\\\"b\\\\c\\nd{}?\""

static char *print_hostile(void)
{
	struct perf_poke_bucket buckets[] = { { 480, 512, 2 },
					      { 512, 544, 3 },
					      { UINT64_C(1) << 40, UINT64_MAX, 1 } };
	struct result_row row = {
		.cpu = 3,
		.stats = { .count = 6, .sum_ns = UINT64_C(1000000002500), .spikes = 4 },
		.buckets = buckets,
		.nr_buckets = ARRAY_SIZE(buckets),
	};
	struct results statistics = { .kinds[0].rows = &row, .nr_rows = 1 };
	struct results captures = { .nr_failed = 2 };
	struct metrics metrics = { 0 };
	const struct metrics_state state = { HOSTILE, &captures, &statistics, 0, true };
	char *text;

	assert_int_equal(metrics_count_cause(&metrics, HOSTILE), 0);
	assert_int_equal(metrics_count_cause(&metrics, "idle:00000000"), 0);
	assert_int_equal(metrics_count_cause(&metrics, HOSTILE), 0);
	text = WRITTEN(file, metrics_print(file, &metrics, &state));
	metrics_release(&metrics);
	return text;
}

TEST(escapes_labels)
{
	_cleanup_free_ char *text = print_hostile();

	assert_non_null(strstr(text, "perf_poke_session_armed{" ESCAPED "} 1\n"));
	assert_non_null(strstr(text, ",fingerprint=\"a\\\"b\\\\c\\nd{}?\"} 2\nperf_poke_cause"));
}

TEST(counts_latencies_below_each_bound)
{
	_cleanup_free_ char *text = print_hostile();

	assert_non_null(strstr(text, "cpu=\"3\",kind=\"irq\",le=\"5.12e-07\"} 2\n"));
	assert_non_null(strstr(text, "le=\"1.024e-06\"} 5\n"));
	assert_non_null(strstr(text, "le=\"0.067108864\"} 5\n"));
	assert_non_null(strstr(text, "le=\"+Inf\"} 6\n"));
	assert_non_null(strstr(text, "_sum{" ESCAPED ",cpu=\"3\",kind=\"irq\"} 1000.000002500\n"));
}

/* A file system may report that it is full only when the file is closed. */
TEST_WITH(writes_all_or_nothing, enter_folder, remove_folder)
{
	struct results none = {};
	struct metrics metrics = { .path = "metrics" };
	const struct metrics_state now = { "a", &none, &none, 0, true };
	const struct rlimit full = { 16, RLIM_INFINITY }, empty = { RLIM_INFINITY, RLIM_INFINITY };
	_cleanup_free_ char *text = WRITTEN(file, metrics_print(file, &metrics, &now));
	_cleanup_free_ char *err = NULL;
	struct console con = {};
	size_t size;

	con.out = con.err = open_memstream(&err, &size);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
	metrics_write(&metrics, &con, &now);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &empty), 0);
	assert_true(metrics.failed);
	assert_int_equal(access("metrics", F_OK), -1);
	metrics_write(&metrics, &con, &now);
	assert_false(metrics.failed);
	assert_string_equal(load_text("metrics"), text);
	fclose(con.err);
	assert_non_null(strstr(err, "--metrics 'metrics': File too large; trying again\n"));
}

TEST(promtool_finds_nothing)
{
	_cleanup_free_ char *text = NULL;
	FILE *promtool;

	if (system("command -v promtool >/dev/null"))
		skip();
	text = print_hostile();
	promtool = popen("promtool check metrics", "w");
	assert_non_null(promtool);
	fputs(text, promtool);
	assert_int_equal(pclose(promtool), 0);
}
