// SPDX-License-Identifier: GPL-2.0-only
#include "session/session_internal.h"

#include <string.h>
#include <sys/stat.h>

#include "helpers.h"

#define WORDS(...) ((char *[]){ __VA_ARGS__, NULL })

static void read_fine(struct perf_record *record, char **words)
{
	_cleanup_free_ char *why = NULL;
	int r = perf_record_read(record, words, false, &why);

	if (r)
		fail_msg("%s: %s", words[2], why);
}

TEST(understands)
{
	struct perf_record record;

	read_fine(&record, WORDS("perf", "record", "-S", "-e", "intel_pt//k", "-C", "41"));
	assert_int_equal(record.at, 1);
	assert_string_equal(record.output, "perf.data");
	assert_false(record.has_output);
	assert_true(record.has_event);
	assert_null(record.delay);
	read_fine(&record, WORDS("/x/perf_6.1", "--debug", "x", "-v", "record", "-aSe", "-o", "a",
				 "--output=b"));
	assert_int_equal(record.at, 4);
	assert_string_equal(record.output, "b");
	read_fine(&record, WORDS("perf", "record", "-gao", "f", "--snap=e", "-D-1"));
	assert_string_equal(record.output, "f");
	assert_string_equal(record.delay, "-1");
	assert_int_equal(record.delay_ns, 0);
	read_fine(&record, WORDS("perf", "record", "--dela", "20-30,40-50", "--switch-output"));
	assert_int_equal(record.delay_ns, 20000000);
}

/* The workload's arguments are not perf's, and an option's value is no option. */
TEST(knows_whose_words_they_are)
{
	struct perf_record record;

	read_fine(&record, WORDS("perf", "record", "-S", "--", "x", "--control", "-o", "y"));
	assert_string_equal(record.output, "perf.data");
	read_fine(&record, WORDS("perf", "record", "-S", "x", "-o", "y"));
	assert_string_equal(record.output, "perf.data");
	read_fine(&record, WORDS("perf", "record", "--filter", "--control", "--off-cpu",
				 "--switch-output=signal", "-o", "y"));
	assert_string_equal(record.output, "y");
	read_fine(&record, WORDS("perf", "record", "--switch-output-event", "-S", "-oy"));
	assert_string_equal(record.output, "y");
}

#define REFUSES(text, ...)                                                                         \
	do {                                                                                       \
		_cleanup_free_ char *why = NULL;                                                   \
		struct perf_record record;                                                         \
                                                                                                   \
		assert_int_equal(perf_record_read(&record, WORDS(__VA_ARGS__), false, &why),       \
				 -EINVAL);                                                         \
		assert_string_equal(why, text);                                                    \
	} while (0)

TEST(refuses)
{
	static const char nothing[] = "perf record: ignores pokes without -S (with Intel PT) "
				      "or --switch-output=signal";
	static const char control[] = "perf record: --control is reserved for perf-poke";

	REFUSES("-- 'sleep': not a perf record (use -- perf record ..., or --any-process)", "sleep",
		"record");
	REFUSES("-- 'perf': not a perf record (use -- perf record ..., or --any-process)", "perf",
		"sched", "record");
	REFUSES(control, "perf", "record", "-S", "--control", "fd:1,2");
	REFUSES(control, "perf", "record", "-S", "--contr=fd:1");
	REFUSES("perf record: --output '-': standard output is used by perf-poke (use a file)",
		"perf", "record", "-S", "-ao-");
	REFUSES("perf record: --delay 'x': must be milliseconds, at most an hour", "perf", "record",
		"-S", "-D", "x");
	REFUSES(nothing, "perf", "record", "-a");
	REFUSES(nothing, "perf", "record", "--switch-output=10M");
	REFUSES(nothing, "perf", "record", "-C", "-S");
}

TEST(takes_any)
{
	_cleanup_free_ char *why = NULL;
	struct perf_record record;

	assert_int_equal(perf_record_read(&record, WORDS("sleep", "-o"), true, &why), 0);
	assert_int_equal(record.at, 0);
	assert_null(record.output);
	assert_int_equal(perf_record_read(&record, WORDS("perf", "record", "-S"), true, &why), 0);
	assert_int_equal(record.at, 1);
	assert_null(why);
}

static void check_argv(char **words, bool any, const char *wake, char **wanted)
{
	_cleanup_(argv_free_words) char **argv = NULL;
	_cleanup_free_ char *why = NULL;
	struct perf_record record;
	size_t i;

	assert_int_equal(perf_record_read(&record, words, any, &why), 0);
	assert_int_equal(perf_record_argv(&record, 7, 8, wake, &argv), 0);
	for (i = 0; wanted[i]; i++) {
		assert_non_null(argv[i]);
		assert_string_equal(argv[i], wanted[i]);
	}
	assert_null(argv[i]);
}

TEST(inserts)
{
	check_argv(WORDS("perf", "-v", "record", "-S", "x"), false, NULL,
		   WORDS("perf", "-v", "record", "--control", "fd:7,8", "--delay=-1",
			 "--output=perf.data", "-S", "x"));
	check_argv(WORDS("perf", "record", "-S", "-D", "9", "-o", "f"), false, NULL,
		   WORDS("perf", "record", "--control", "fd:7,8", "-S", "-D", "9", "-o", "f"));
	check_argv(WORDS("perf", "record", "-So", "-of"), false, "ppx",
		   WORDS("perf", "record", "--control", "fd:7,8", "--delay=-1", "-e",
			 "bpf_trace:bpf_trace_printk", "--filter", "bpf_string ~ \"ppx*\"",
			 "--no-buffering", "-So", "-of"));
	check_argv(WORDS("x", "record"), true, NULL, WORDS("x", "record"));
}

TEST(asks_by_delay)
{
	struct perf_record record = { 0 };

	assert_string_equal(perf_record_first(&record), "enable\n");
	record.delay = "-1";
	assert_string_equal(perf_record_first(&record), "enable\n");
	record.delay = "100";
	assert_string_equal(perf_record_first(&record), "ping\n");
}

TEST(makes_wakes)
{
	char one[PERF_RECORD_WAKE], other[PERF_RECORD_WAKE];

	assert_int_equal(perf_record_make_wake(one), 0);
	assert_int_equal(perf_record_make_wake(other), 0);
	assert_int_equal(strlen(one), 18);
	assert_string_not_equal(one, other);
}

#define DUMP "2026112101332074"

TEST(finds_new_files)
{
	_cleanup_(perf_files_release) struct perf_files before = { 0 }, after = { 0 };

	put_file(folder->fd, "a/x.data", "old");
	put_file(folder->fd, "a/x.data.0000000000000000", "old");
	assert_int_equal(perf_files_find(&before, "a/x.data"), 0);
	assert_int_equal(before.nr, 2);
	assert_int_equal(rename("a/x.data", "a/x.data.old"), 0);
	assert_int_equal(mkdir("a/x.data", 0777), 0);
	put_file(folder->fd, "a/x.data." DUMP, "");
	put_file(folder->fd, "a/x.data.2026112101332073", "");
	put_file(folder->fd, "a/x.data.2026", "");
	put_file(folder->fd, "a/x.data." DUMP "0", "");
	put_file(folder->fd, "a/y.data." DUMP, "");
	assert_int_equal(perf_files_find(&after, "a/x.data"), 0);
	perf_files_subtract(&after, &before);
	assert_int_equal(after.nr, 3);
	assert_string_equal(after.files[0].path, "a/x.data");
	assert_string_equal(after.files[1].path, "a/x.data.2026112101332073");
	assert_string_equal(after.files[2].path, "a/x.data." DUMP);
}

TEST(finds_files_here)
{
	_cleanup_(perf_files_release) struct perf_files found = { 0 }, none = { 0 };

	put_file(folder->fd, "z.data", "");
	assert_int_equal(perf_files_find(&found, "z.data"), 0);
	assert_int_equal(found.nr, 1);
	assert_string_equal(found.files[0].path, "z.data");
	assert_int_equal(perf_files_find(&none, "nowhere/z.data"), 0);
	assert_int_equal(none.nr, 0);
}

int main(void)
{
	return run_all(enter_folder, leave_folder);
}
