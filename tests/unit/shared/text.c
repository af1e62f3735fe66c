// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "text.h"

#include <string.h>

#include "test.h"
#include "util.h"

static void check_printable(const char *text, const char *expected)
{
	_cleanup_free_ char *copy = strdup(text);

	assert_non_null(copy);
	assert_ptr_equal(text_make_printable(copy), copy);
	assert_string_equal(copy, expected);
}

TEST(keeps_what_is_shown)
{
	check_printable("", "");
	check_printable(" ~", " ~");
	/* U+00A0 is the first after C1. */
	check_printable("\302\240\303\244\342\202\254\360\237\230\200",
			"\302\240\303\244\342\202\254\360\237\230\200");
}

TEST(replaces_control_characters)
{
	check_printable("a\033[2J\n\t\r\b\177b", "a [2J     b");
	/* CSI, OSC and ST of C1, the first and the last of them: as UTF-8 and as bytes. */
	check_printable("\302\2332J\302\2350;x\302\234", " 2J 0;x ");
	check_printable("\302\200\302\237", "  ");
	check_printable("\2332J", "?2J");
}

TEST(replaces_what_reorders_or_hides)
{
	/* Line separator, right-to-left override, isolate, zero width space, a tag. */
	check_printable("a\342\200\250b\342\200\256c\342\201\246d\342\200\213e\363\240\200\201f",
			"a b c d e f");
}

TEST(cuts_copies)
{
	char buf[4];

	assert_ptr_equal(text_copy_printable(buf, sizeof(buf), "ab\303\244"), buf);
	assert_string_equal(buf, "ab?");
	assert_string_equal(CLEAN("a\302\233b"), "a b");
	assert_string_equal(CLEAN_TO(2, "a\nb"), "a ");
}

static void check_repair(const char *text, const char *expected)
{
	_cleanup_free_ char *copy = strdup(text);

	assert_non_null(copy);
	assert_ptr_equal(utf8_repair_text(copy), copy);
	assert_string_equal(copy, expected);
}

static void keeps(const char *text)
{
	check_repair(text, text);
}

TEST(keeps_utf8)
{
	keeps("");
	keeps("plain\n\t\177\001");
	keeps("\303\244\342\202\254\360\237\230\200");
	/* The first and last of each length. */
	keeps("\302\200 \337\277");
	keeps("\340\240\200 \355\237\277 \356\200\200 \357\277\277");
	keeps("\360\220\200\200 \364\217\277\277");
}

TEST(replaces_other_bytes)
{
	check_repair("a\377b\376c\365d", "a?b?c?d");
	check_repair("\200a\277", "?a?");
	check_repair("\303\303\244", "?\303\244");
}

TEST(replaces_what_is_cut)
{
	check_repair("a\303", "a?");
	check_repair("\342\202", "??");
	check_repair("\360\237\230", "???");
	check_repair("\342\202a", "??a");
	check_repair("\360\237\303\244", "??\303\244");
}

TEST(replaces_overlong_forms)
{
	check_repair("\300\200", "??");
	check_repair("\301\277", "??");
	check_repair("\340\200\200", "???");
	check_repair("\340\237\277", "???");
	check_repair("\360\217\277\277", "????");
}

TEST(replaces_what_is_no_character)
{
	check_repair("\355\240\200", "???");
	check_repair("\355\277\277", "???");
	check_repair("\364\220\200\200", "????");
	check_repair("\365\200\200\200", "????");
}
