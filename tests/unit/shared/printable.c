// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "printable.h"

#include <string.h>

#include "test.h"
#include "util.h"

static void check(const char *text, const char *expected)
{
	_cleanup_free_ char *copy = strdup(text);

	assert_non_null(copy);
	assert_ptr_equal(printable(copy), copy);
	assert_string_equal(copy, expected);
}

TEST(keeps_what_is_shown)
{
	check("", "");
	check(" ~", " ~");
	/* U+00A0 is the first after C1. */
	check("\302\240\303\244\342\202\254\360\237\230\200",
	      "\302\240\303\244\342\202\254\360\237\230\200");
}

TEST(replaces_control_characters)
{
	check("a\033[2J\n\t\r\b\177b", "a [2J     b");
	/* CSI, OSC and ST of C1, the first and the last of them: as UTF-8 and as bytes. */
	check("\302\2332J\302\2350;x\302\234", " 2J 0;x ");
	check("\302\200\302\237", "  ");
	check("\2332J", "?2J");
}

TEST(replaces_what_reorders_or_hides)
{
	/* Line separator, right-to-left override, isolate, zero width space, a tag. */
	check("a\342\200\250b\342\200\256c\342\201\246d\342\200\213e\363\240\200\201f",
	      "a b c d e f");
}

TEST(cuts_copies)
{
	char buf[4];

	assert_ptr_equal(printable_copy(buf, sizeof(buf), "ab\303\244"), buf);
	assert_string_equal(buf, "ab?");
	assert_string_equal(CLEAN("a\302\233b"), "a b");
	assert_string_equal(CLEAN_TO(2, "a\nb"), "a ");
}
