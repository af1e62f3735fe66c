// SPDX-License-Identifier: GPL-2.0-only
#include "commands/commands.h"

#include "parsed.h"

#define PARSED_WORDS "perf-poke-ctl", "script"
PARSED_BY(struct script_args, script_parse_args, nothing_to_release)

TEST(has_defaults)
{
	_cleanup_(release) struct parsed p = { 0 };

	PARSE(&p, "a folder");
	assert_int_equal(p.r, 0);
	assert_string_equal(p.err, "");
	assert_string_equal(p.args.capture, "a folder");
	assert_int_equal(p.args.view.window_ns, 0);
	assert_false(p.args.view.all || p.args.view.all_cpus);
	assert_false(p.args.insns || p.args.dry_run || p.args.quiet);
	assert_null(p.args.view.rest);
}

TEST(maps_all)
{
	_cleanup_(release) struct parsed p = { 0 };

	PARSE(&p, "-w", "50", "--insns", "folder", "-a", "-n", "-q", "--", "--all", "-h");
	assert_int_equal(p.r, 0);
	assert_string_equal(p.args.capture, "folder");
	assert_int_equal(p.args.view.window_ns, 50000);
	assert_false(p.args.view.all);
	assert_true(p.args.view.all_cpus && p.args.insns && p.args.dry_run && p.args.quiet);
	assert_string_equal(p.args.view.rest[0], "--all");
	assert_string_equal(p.args.view.rest[1], "-h");
	assert_null(p.args.view.rest[2]);

	release(&p);
	PARSE(&p, "-C", "2,4", "-qn");
	assert_int_equal(p.r, 0);
	assert_null(p.args.capture);
	assert_string_equal(p.args.view.cpus, "2,4");
	assert_true(p.args.dry_run && p.args.quiet);

	release(&p);
	PARSE(&p, "--all", "folder", "--");
	assert_int_equal(p.r, 0);
	assert_true(p.args.view.all);
	assert_null(p.args.view.rest[0]);
}

TEST(refuses)
{
	REFUSES("CAPTURE: empty; a value is needed", "");
	REFUSES("'b': unexpected argument", "a", "b");
	REFUSES("--all excludes --window", "a", "--all", "--window", "1ms");
	REFUSES("--window '0': must be 1ns or more (a bare number is microseconds)", "a",
		"--window", "0");
	REFUSES("--all-cpus excludes --cpu", "-aC3");
	REFUSES("-C 'x': not a list of CPUs (use 3 or 2,4-7)", "-C", "x");
}
