// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "utf8.h"

#include <string.h>

#include "test.h"
#include "util.h"

static void check(const char *text, const char *expected)
{
	_cleanup_free_ char *copy = strdup(text);

	assert_non_null(copy);
	assert_ptr_equal(utf8_repair(copy), copy);
	assert_string_equal(copy, expected);
}

static void keeps(const char *text)
{
	check(text, text);
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
	check("a\377b\376c\365d", "a?b?c?d");
	check("\200a\277", "?a?");
	check("\303\303\244", "?\303\244");
}

TEST(replaces_what_is_cut)
{
	check("a\303", "a?");
	check("\342\202", "??");
	check("\360\237\230", "???");
	check("\342\202a", "??a");
	check("\360\237\303\244", "??\303\244");
}

TEST(replaces_overlong_forms)
{
	check("\300\200", "??");
	check("\301\277", "??");
	check("\340\200\200", "???");
	check("\340\237\277", "???");
	check("\360\217\277\277", "????");
}

TEST(replaces_what_is_no_character)
{
	check("\355\240\200", "???");
	check("\355\277\277", "???");
	check("\364\220\200\200", "????");
	check("\365\200\200\200", "????");
}
