// SPDX-License-Identifier: GPL-2.0-only
#include "events/format_text.h"

#include <string.h>

#include "test.h"
#include "util.h"

static bool has_field(const void *context, const char *name, size_t length)
{
	return length && strncmp(name, "missing", length);
}

static bool is_plain(const char *text)
{
	return format_text_print_is_plain(text, strlen(text), has_field, NULL);
}

/* As in Linux. */
TEST(takes_those_of_the_kernel)
{
	static const char *const texts[] = {
		" \"\"\n",
		" \"vec=%u [action=%s]\", REC->vec, __print_symbolic(REC->vec, { 0, \"HI\" }, { 1, "
		"\"50%\" })\n",
		" \"%s ==> %016llx %-16s%%\", (REC->state & ((((0x0 | 0x1) + 1) << 1) - 1)) ? "
		"__print_flags(REC->state & 1, \"|\", { 0x1, \"S\" }) : \"R\", REC->x, REC->comm",
		" \"function=%ps at %pS %p\", REC->function, (void *)REC->ip, REC->p",
		" \"cmd=%s \\\"%pI4\\\" %pU\", __get_str(cmd), REC->ip, REC->uuid",
		" \"a\" \"b %d\", !!REC->a",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_true(is_plain(texts[i]));
}

TEST(refuses_what_is_dangerous)
{
	static const char *const texts[] = {
		"x",
		" \"not ended",
		" \"ends in \\",
		" \"%",
		" \"%n\", REC->a",
		" \"%*d\", REC->width, REC->a",
		" \"%99999d\", REC->a",
		" \"%-----------d\", REC->a",
		" \"%ph\", REC->a",
		" \"%d\", REC->a / REC->b",
		" \"%d\", REC->a % REC->b",
		" \"%d\", REC->a[REC->b]",
		" \"%s\", __print_hex(REC->a, REC->b)",
		" \"%s\", __print_array(__get_dynamic_array(a), REC->b, 4)",
		" \"%d\", !!!REC->a",
		" \"%d\", ~ ~ ~REC->a",
		" \"%d\", (REC->a",
		" \"%d\", REC->a)",
		" \"%d\" REC->a",
		" \"%d\", 'a'",
		" \"%d\", REC->missing",
		" \"%d\", REC",
		" \"%d\", sizeof(REC->a)",
		" \"%d\", unknown (REC->a)",
		" \"%d\", long REC->a",
		" \"%s\", long __get_str(a)",
		" \"%s\", long __print_symbolic(REC->a, { 0, \"a\" })",
		" \"%d\", REC->a->a",
		" \"%d\", a->a",
		" \"%s\", __get_str(missing)",
		" \"%s\", __get_str(a",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_false(is_plain(texts[i]));
}

TEST(takes_heads_of_the_kernel_alone)
{
	static const char *const good[] = { "int a",	      "unsigned long long a",
					    "char comm[16]",  "__data_loc char[] name",
					    "const char * s", "unsigned long args[6]",
					    "u8 a[ETH_ALEN]" };
	static const char *const bad[] = { "int",     "",	"[3] a",	  "int a[[3]]",
					   "int a[3", "int a]", "int (*a)(void)", "int a; int b",
					   "int\ta",  " a b" };
	char text[256];

	for (size_t i = 0; i < ARRAY_SIZE(good) + ARRAY_SIZE(bad); i++) {
		bool is_good = i < ARRAY_SIZE(good);

		snprintf(text, sizeof(text),
			 "name: x\nID: 7\nformat:\n\tfield:%s;\toffset:8;\tsize:4;\n\n"
			 "\tfield:int b;\toffset:8;\tsize:4;\tsigned:1;\n\n",
			 is_good ? good[i] : bad[i - ARRAY_SIZE(good)]);
		assert_int_equal(format_text_head_is_plain(text, strlen(text)), is_good);
		for (size_t size = 0; size < strlen("name: x\nID: 7\nformat:\n"); size++)
			assert_false(format_text_head_is_plain(text, size));
	}
}

TEST(is_bounded)
{
	static char text[20 << 10];
	const char *begin = "\"%d\", ";

	for (int depth = 60; depth < 70; depth++) {
		snprintf(text, sizeof(text), "%s%*s1%*s", begin, depth, "", depth, "");
		memset(text + strlen(begin), '(', (size_t)depth);
		memset(text + strlen(begin) + depth + 1, ')', (size_t)depth);
		assert_int_equal(is_plain(text), depth <= 64);
	}
	memset(text, ' ', sizeof(text) - 1);
	memcpy(text, "\"x\"", 3);
	assert_false(is_plain(text));
	assert_true(format_text_print_is_plain(text, 16 << 10, has_field, NULL));
}
