// SPDX-License-Identifier: GPL-2.0-only
#include "text.h"
#include "utf8.h"

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

static void check_utf8(const char *text, const char *expected)
{
	char copy[64];

	snprintf(copy, sizeof(copy), "%s", text);
	assert_string_equal(utf8_repair(copy), expected);
}

static void makes_utf8(void **state)
{
	(void)state;
	check_utf8("", "");
	check_utf8("plain\n", "plain\n");
	check_utf8("\303\244\342\202\254\360\237\230\200", "\303\244\342\202\254\360\237\230\200");
	check_utf8("a\377b", "a?b");
	check_utf8("a\303", "a?");
	check_utf8("\342\202", "??");
	check_utf8("\300\200", "??");
	check_utf8("\340\200\200", "???");
	check_utf8("\355\240\200", "???");
	check_utf8("\364\220\200\200", "????");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quotes_for_the_shell),
		cmocka_unit_test(makes_printable),
		cmocka_unit_test(makes_utf8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
