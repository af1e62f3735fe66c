// SPDX-License-Identifier: GPL-2.0-only
#include "export.h"

#include <string.h>
#include <sys/stat.h>

#include "parsed.h"

#define PARSED_WORDS "perf-poke-ctl", "export"
PARSED_BY(struct export_args, export_parse, nothing_to_release)

/* The words but for perf script -i. */
static void check_words(const struct export_args *args, const struct view_capture *capture,
			const char *expected)
{
	_cleanup_(view_free_argv) char **argv = NULL;
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	assert_int_equal(export_argv(args, capture, "perf", "f.so", "data", "out.fxt", &argv), 0);
	for (size_t i = 0; argv[i]; i++)
		fprintf(file, "%s%s", i ? " " : "", argv[i]);
	fclose(file);
	assert_string_equal(text, expected);
}

static void makes_command_lines(void **state)
{
	const struct view_capture capture = {
		.kind = VIEW_PT, .cpu = 3, .spike_ns = 5000, .latency_ns = 2000
	};
	const struct view_capture poked = { .kind = VIEW_PT, .cpu = -1, .spike_ns = 5000 };
	_cleanup_(release) struct parsed p = { 0 };

	(void)state;
	PARSE(&p, "folder", "-o", "a.fxt.gz");
	assert_int_equal(p.r, 0);
	check_words(&p.args, &capture,
		    "perf script -i data --itrace=bei0ns --dlfilter f.so --dlarg output=out.fxt "
		    "--dlarg axis=time --dlarg spike=5000 --dlarg expected=3000 --dlarg "
		    "spike-cpu=3 --dlarg progress=3");
	check_words(&p.args, &poked,
		    "perf script -i data --itrace=bei0ns --dlfilter f.so --dlarg output=out.fxt "
		    "--dlarg axis=time --dlarg spike=5000 --dlarg expected=5000 --dlarg "
		    "progress=3");
	release(&p);
	PARSE(&p, "folder", "--html", "a.html", "-t", "-5us,");
	assert_int_equal(p.r, 0);
	assert_string_equal(p.args.html, "a.html");
	assert_null(p.args.output);
	release(&p);
	PARSE(&p, "folder", "-o", "a.fxt", "-n", "--time", "-5us,", "--split", "25ms", "-q", "--",
	      "--symfs", "dir");
	assert_int_equal(p.r, 0);
	assert_true(p.args.quiet);
	check_words(&p.args, &capture,
		    "perf script -i data --itrace=bei0ns --dlfilter f.so --dlarg output=out.fxt "
		    "--dlarg time=-5us, --dlarg axis=time --dlarg split=25000000ns --dlarg "
		    "spike=5000 --dlarg expected=3000 --dlarg spike-cpu=3 --symfs dir");
}

/* Of one that was opened from an archive. */
static void names_binaries(void **state)
{
	const struct view_capture capture = { .kind = VIEW_PT, .cpu = -1, .spike_ns = 5000 };
	char folder[] = "/tmp/perf-poke-test-XXXXXX";
	_cleanup_(release) struct parsed p = { 0 };
	char expected[256], path[64];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/buildid", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	PARSE(&p, folder, "-o", "a.fxt", "-n");
	snprintf(expected, sizeof(expected),
		 "perf --buildid-dir %s script -i data --itrace=bei0ns --dlfilter f.so --dlarg "
		 "output=out.fxt --dlarg axis=time --dlarg spike=5000 --dlarg expected=5000",
		 path);
	check_words(&p.args, &capture, expected);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

static void refuses(void **state)
{
	(void)state;
	REFUSES("give --output FILE or --html FILE", "a");
	REFUSES("give --output FILE or --html FILE, not both", "a", "-o", "a.fxt", "--html", "b");
	REFUSES("--html does not go together with --axis, --tracks, --split, --jobs, --dry-run or "
		"-- ARGS",
		"a", "--html", "b", "--split", "1ms");
	REFUSES("--html does not go together with --axis, --tracks, --split, --jobs, --dry-run or "
		"-- ARGS",
		"a", "--html", "b", "--", "-v");
	REFUSES("--output 'a.json': must end with .fxt or .fxt.gz", "a", "-o", "a.json");
	REFUSES("--output '.fxt': must end with .fxt or .fxt.gz", "a", "-o", ".fxt");
	REFUSES("--split and --axis cycles do not go together", "a", "-o", "a.fxt", "--split",
		"1ms", "--axis", "cycles");
	REFUSES("--time '5': must be BEGIN,END, as -200us,50us or 7.788,7.789", "a", "-o", "a.fxt",
		"--time", "5");
	REFUSES("--time '5,4': must be BEGIN,END, as -200us,50us or 7.788,7.789, with BEGIN before "
		"END",
		"a", "-o", "a.fxt", "--time", "5,4");
	REFUSES("--axis 'space': not an axis (use time, cycles, instructions)", "a", "-o", "a.fxt",
		"--axis", "space");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(makes_command_lines),
		cmocka_unit_test(names_binaries),
		cmocka_unit_test(refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
