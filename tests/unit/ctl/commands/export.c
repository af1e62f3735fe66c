// SPDX-License-Identifier: GPL-2.0-only
#include "commands/commands.h"

#include "parsed.h"

#define PARSED_WORDS "perf-poke-ctl", "export"
PARSED_BY(struct export_args, export_parse_args, nothing_to_release)

TEST(parses)
{
	_cleanup_(release) struct parsed p = { 0 };

	PARSE(&p, "folder", "--html", "a.html", "-t", "-5us,", "--symfs", "root");
	assert_int_equal(p.r, 0);
	assert_string_equal(p.args.html, "a.html");
	assert_string_equal(p.args.symfs, "root");
	assert_null(p.args.output);
	release(&p);
	PARSE(&p, "folder", "-o", "a.fxt", "--time", "-5us,", "-q", "-j", "3");
	assert_int_equal(p.r, 0);
	assert_string_equal(p.args.output, "a.fxt");
	assert_int_equal(p.args.jobs, 3);
	assert_true(p.args.quiet);
}

TEST(refuses)
{
	REFUSES("give --output FILE or --html FILE", "a");
	REFUSES("give --output FILE or --html FILE, not both", "a", "-o", "a.fxt", "--html", "b");
	REFUSES("--normal needs --html FILE", "a", "-o", "a.fxt", "--normal");
	REFUSES("--html excludes --axis and --jobs", "a", "--html", "b", "--axis", "cycles");
	REFUSES("--output 'a.json': must end with .pftrace or .fxt, or .gz after it", "a", "-o",
		"a.json");
	REFUSES("--output '.fxt': must end with .pftrace or .fxt, or .gz after it", "a", "-o",
		".fxt");
	REFUSES("--time '5': must be BEGIN,END, as -200us,50us or 7.788,7.789", "a", "-o", "a.fxt",
		"--time", "5");
	REFUSES("--time '5,4': must be BEGIN,END, as -200us,50us or 7.788,7.789, with BEGIN before "
		"END",
		"a", "-o", "a.fxt", "--time", "5,4");
	REFUSES("--axis 'space': not an axis (use time, cycles, instructions)", "a", "-o", "a.fxt",
		"--axis", "space");
}
