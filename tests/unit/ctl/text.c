// SPDX-License-Identifier: GPL-2.0-only
#include "text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void check_word(const char *text, const char *expected)
{
	_cleanup_free_ char *word = NULL;

	assert_int_equal(text_shell_word(text, &word), 0);
	assert_string_equal(word, expected);
}

static void quotes_for_the_shell(void **state)
{
	(void)state;
	check_word("perf-poke.data/2026-01-01_12:00:00,1/perf.data",
		   "perf-poke.data/2026-01-01_12:00:00,1/perf.data");
	check_word("", "''");
	check_word("a b", "'a b'");
	check_word("it's", "'it'\\''s'");
	check_word("''", "''\\'''\\'''");
	check_word("$HOME`x`\\\"*?~;&|", "'$HOME`x`\\\"*?~;&|'");
	check_word("~user", "'~user'");
	check_word("\303\244", "'\303\244'");
}

static void makes_printable(void **state)
{
	char text[] = "a\033[2J\n\t\177b\303\244";

	(void)state;
	assert_string_equal(text_printable(text), "a [2J   b\303\244");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quotes_for_the_shell),
		cmocka_unit_test(makes_printable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
