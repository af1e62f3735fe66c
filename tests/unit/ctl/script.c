// SPDX-License-Identifier: GPL-2.0-only
#include "script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct parsed {
	struct script_args args;
	int r;
	char *out;
	char *err;
};

static void release(struct parsed *p)
{
	free(p->out);
	free(p->err);
}

static void parse(struct parsed *p, char **argv)
{
	struct console con = { 0 };
	size_t out_size, err_size;
	int argc = 0;

	while (argv[argc])
		argc++;
	con.out = open_memstream(&p->out, &out_size);
	con.err = open_memstream(&p->err, &err_size);
	assert_non_null(con.out);
	assert_non_null(con.err);
	p->r = script_parse(&p->args, &con, argc, argv);
	fclose(con.out);
	fclose(con.err);
}

#define PARSE(p, ...) parse(p, (char *[]){ "perf-poke-ctl", "script", __VA_ARGS__, NULL })

static void has_defaults(void **state)
{
	_cleanup_(release) struct parsed p = { 0 };

	(void)state;
	PARSE(&p, "a folder");
	assert_int_equal(p.r, 0);
	assert_string_equal(p.err, "");
	assert_string_equal(p.args.capture, "a folder");
	assert_int_equal(p.args.view.window_ns, 0);
	assert_false(p.args.view.all || p.args.view.all_cpus);
	assert_false(p.args.insns || p.args.dry_run || p.args.quiet);
	assert_null(p.args.view.rest);
}

static void maps_all(void **state)
{
	_cleanup_(release) struct parsed p = { 0 };

	(void)state;
	PARSE(&p, "-w", "50", "--insns", "folder", "--all-cpus", "-n", "-q", "--", "--all", "-h");
	assert_int_equal(p.r, 0);
	assert_string_equal(p.args.capture, "folder");
	assert_int_equal(p.args.view.window_ns, 50000);
	assert_false(p.args.view.all);
	assert_true(p.args.view.all_cpus && p.args.insns && p.args.dry_run && p.args.quiet);
	assert_string_equal(p.args.view.rest[0], "--all");
	assert_string_equal(p.args.view.rest[1], "-h");
	assert_null(p.args.view.rest[2]);

	free(p.out);
	free(p.err);
	PARSE(&p, "--all", "folder", "--");
	assert_int_equal(p.r, 0);
	assert_true(p.args.view.all);
	assert_null(p.args.view.rest[0]);
}

#define REFUSES(text, ...)                                                                         \
	do {                                                                                       \
		_cleanup_(release) struct parsed p = { 0 };                                        \
                                                                                                   \
		PARSE(&p, __VA_ARGS__);                                                            \
		assert_int_equal(p.r, -EINVAL);                                                    \
		assert_string_equal(p.err, "perf-poke-ctl: " text "\n");                           \
		assert_string_equal(p.out, "");                                                    \
	} while (0)

static void refuses(void **state)
{
	(void)state;
	REFUSES("CAPTURE is required", "--all");
	REFUSES("CAPTURE is required", "--", "folder");
	REFUSES("CAPTURE: empty; a value is needed", "");
	REFUSES("'b': only options are taken", "a", "b");
	REFUSES("--all and --window do not go together", "a", "--all", "--window", "1ms");
	REFUSES("--window '0': must be 1ns or more (a bare number is microseconds)", "a",
		"--window", "0");
	REFUSES("--cpu: no such option (--help lists them)", "a", "--cpu", "3");
}

static void helps(void **state)
{
	_cleanup_(release) struct parsed p = { 0 };

	(void)state;
	PARSE(&p, "--help");
	assert_int_equal(p.r, 1);
	assert_string_equal(p.err, "");
	assert_non_null(strstr(p.out, "Usage: perf-poke-ctl script CAPTURE [OPTIONS] [-- ARGS]"));
	assert_non_null(strstr(p.out, "\n      CAPTURE               folder of a capture\n"));
	assert_non_null(strstr(p.out, "\n      -- ARGS               for perf script"));
	for (size_t i = 0; i < command_script.nr_options; i++)
		assert_non_null(strstr(p.out, command_script.options[i].name
						      ?: command_script.options[i].metavar));
	assert_non_null(strstr(p.out, "Exit codes: "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(has_defaults),
		cmocka_unit_test(maps_all),
		cmocka_unit_test(refuses),
		cmocka_unit_test(helps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
