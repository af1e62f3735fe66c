// SPDX-License-Identifier: GPL-2.0-only
#include "commands/commands.h"
#include "parsed.h"

struct either_args {
	struct archive_args archive;
	struct open_args open;
};

static int either_parse(struct either_args *args, struct console *con, int argc, char **argv)
{
	if (!strcmp(argv[1], "archive"))
		return archive_parse_args(&args->archive, con, argc, argv);
	return open_parse_args(&args->open, con, argc, argv);
}

#define PARSED_WORDS "perf-poke-ctl"
PARSED_BY(struct either_args, either_parse, nothing_to_release)

TEST(maps_options)
{
	_cleanup_(release) struct parsed p = { 0 };
	_cleanup_(release) struct parsed q = { 0 };
	_cleanup_(release) struct parsed none = { 0 };

	PARSE(&p, "archive", "folder", "-o", "a.tar.zst", "--no-binaries", "-q");
	assert_int_equal(p.r, 0);
	assert_string_equal(p.args.archive.capture, "folder");
	assert_string_equal(p.args.archive.output, "a.tar.zst");
	assert_true(p.args.archive.no_binaries && p.args.archive.quiet);

	PARSE(&q, "open", "-", "-o", "here", "--max-size", "2M");
	assert_int_equal(q.r, 0);
	assert_string_equal(q.args.open.file, "-");
	assert_string_equal(q.args.open.output, "here");
	assert_int_equal(q.args.open.max_size, 2 << 20);
	assert_false(q.args.open.quiet);

	PARSE(&none, "open", "file");
	assert_int_equal(none.r, 0);
	assert_null(none.args.open.output);
	assert_int_equal(none.args.open.max_size, 0);
}

TEST(refuses)
{
	REFUSES("--output FILE is required", "archive", "folder");
	REFUSES("FILE is required", "open", "-o", "here");
	REFUSES("--max-size '0': must be 1B or more", "open", "a", "--max-size", "0");
	REFUSES("'b': unexpected argument", "open", "a", "b");
}
