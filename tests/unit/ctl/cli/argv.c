// SPDX-License-Identifier: GPL-2.0-only
#include "cli/cli.h"
#include "test.h"

static void check_word(const char *text, const char *expected)
{
	_cleanup_free_ char *word = NULL;

	assert_int_equal(text_shell_word(text, &word), 0);
	assert_string_equal(word, expected);
}

TEST(quotes_for_the_shell)
{
	check_word("perf-poke.data/2026-01-01_12:00:00,1/perf.data",
		   "perf-poke.data/2026-01-01_12:00:00,1/perf.data");
	check_word("", "''");
	check_word("a b", "'a b'");
	check_word("it's", "'it'\\''s'");
	check_word("$HOME`x`\\\"*?~;&|", "'$HOME`x`\\\"*?~;&|'");
	check_word("~user", "'~user'");
	check_word("\303\244", "'\303\244'");
}

/* A shell converts the octal back; the terminal sees no control character. */
TEST(escapes_what_terminals_act_on)
{
	check_word("a\033]0;x\007", "$'a\\033]0;x\\007'");
	check_word("\302\233 it's \\", "$'\\302\\233 it\\047s \\134'");
	check_word("\377", "$'\\377'");
}
