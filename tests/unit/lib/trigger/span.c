// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The text of a span, and the functions of a file by name. */
#include "trigger/trigger_internal.h"

#include <errno.h>
#include <string.h>

#include "messages.h"
#include "test.h"

static int parse(struct span *span, const char *text, struct messages *messages)
{
	const struct log log = { messages_add, messages };

	*messages = (struct messages){};
	return span_parse_text(span, text, &log);
}

TEST(reads_entry_and_exit)
{
	static const struct {
		const char *text;
		enum span_kind entry, exit;
		const char *entry_last, *exit_last;
		enum span_by by;
		bool whole;
	} rows[] = {
		{ "a=tp:s:n..tp:s:m", SPAN_TP, SPAN_TP, "n", "m", SPAN_BY_THREAD, false },
		{ "a=tp:s:n..tp:s:m,by=thread", SPAN_TP, SPAN_TP, "n", "m", SPAN_BY_THREAD, false },
		{ "a=tp:s:n..tp:s:m,by=cpu", SPAN_TP, SPAN_TP, "n", "m", SPAN_BY_CPU, false },
		{ "a=tp:s:n..fn:f,by=pid:arg2", SPAN_TP, SPAN_FN, "n", "f", SPAN_BY_ARGUMENT,
		  false },
		{ "a=fn:f", SPAN_FN, SPAN_FN, "f", "f", SPAN_BY_THREAD, true },
		{ "a=fn:f..fn:f", SPAN_FN, SPAN_FN, "f", "f", SPAN_BY_THREAD, true },
		{ "a=fn:f..fn:g", SPAN_FN, SPAN_FN, "f", "g", SPAN_BY_THREAD, false },
		{ "a=uprobe:../b..c/d:f", SPAN_UPROBE, SPAN_URETPROBE, "f", "f", SPAN_BY_THREAD,
		  true },
		{ "a=uprobe:/b:f..uretprobe:/b:f", SPAN_UPROBE, SPAN_URETPROBE, "f", "f",
		  SPAN_BY_THREAD, true },
		{ "a=uprobe:/b:f+0x10..uretprobe:/b:f", SPAN_UPROBE, SPAN_URETPROBE, "f+0x10", "f",
		  SPAN_BY_THREAD, false },
		{ "a=uprobe:/b:n::C::f(int, char),by=cpu", SPAN_UPROBE, SPAN_URETPROBE,
		  "n::C::f(int, char)", "n::C::f(int, char)", SPAN_BY_CPU, true },
		{ "a=usdt:/b:p:q..usdt:../c:p:r,by=arg5", SPAN_USDT, SPAN_USDT, "q", "r",
		  SPAN_BY_ARGUMENT, false },
	};
	struct messages messages;
	struct span span;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		static const int last[SPAN_KINDS] = { 1, 0, 1, 1, 2 };

		assert_int_equal(parse(&span, rows[i].text, &messages), 0);
		assert_string_equal(span.name, "a");
		assert_int_equal(span.entry.kind, rows[i].entry);
		assert_int_equal(span.exit.kind, rows[i].exit);
		assert_string_equal(span.entry.parts[last[span.entry.kind]], rows[i].entry_last);
		assert_string_equal(span.exit.parts[last[span.exit.kind]], rows[i].exit_last);
		assert_int_equal(span.by, rows[i].by);
		assert_int_equal(span.whole, rows[i].whole);
		span_destroy(&span);
	}
}

TEST(reads_arguments)
{
	struct messages messages;
	struct span span;

	assert_int_equal(parse(&span, "a=tp:s:n..tp:s:m,by=pid:next_pid", &messages), 0);
	assert_string_equal(span.entry.argument, "pid");
	assert_string_equal(span.exit.argument, "next_pid");
	span_destroy(&span);
	assert_int_equal(parse(&span, "a=tp:s:n..tp:s:m,by=dev", &messages), 0);
	assert_string_equal(span.entry.argument, "dev");
	assert_string_equal(span.exit.argument, "dev");
	span_destroy(&span);
}

TEST(reads_filters)
{
	struct messages messages;
	struct span span;

	assert_int_equal(
		parse(&span, "a=tp:s:n/x == 1 && y ~ \"*/z:\"/..tp:s:m/b/,by=c", &messages), 0);
	assert_string_equal(span.entry.parts[1], "n");
	assert_string_equal(span.entry.filter, "x == 1 && y ~ \"*/z:\"");
	assert_string_equal(span.exit.parts[1], "m");
	assert_string_equal(span.exit.filter, "b");
	assert_string_equal(span.exit.argument, "c");
	span_destroy(&span);
	assert_int_equal(parse(&span, "a=tp:s:n..tp:s:m", &messages), 0);
	assert_null(span.entry.filter);
	span_destroy(&span);
}

TEST(reads_overrun)
{
	struct messages messages;
	struct span span;

	assert_int_equal(parse(&span, "a=uprobe:/b:f,by=cpu,overrun", &messages), 0);
	assert_true(span.overrun);
	assert_int_equal(span.by, SPAN_BY_CPU);
	span_destroy(&span);
	assert_int_equal(parse(&span, "a=fn:overrun", &messages), 0);
	assert_false(span.overrun);
	span_destroy(&span);
}

TEST(refuses_what_is_none)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{ "", "must be NAME=ENTRY..EXIT" },
		{ "tp:s:n..tp:s:m", "must be NAME=ENTRY..EXIT" },
		{ "=tp:s:n..tp:s:m", "must be NAME=ENTRY..EXIT" },
		{ "a/b=fn:f", "must be NAME=ENTRY..EXIT" },
		{ "a=", "'': must be tp:SYS:NAME[/FILTER/], fn:FUNCTION" },
		{ "a=f", "'f': must be tp:SYS:NAME[/FILTER/], fn:FUNCTION" },
		{ "a=fn:", "'fn': must be fn:FUNCTION" },
		{ "a=tp:s..tp:s:m", "'tp': must be tp:SYS:NAME" },
		{ "a=tp:s:..tp:s:m", "'tp': must be tp:SYS:NAME" },
		{ "a=tp:s:n/x..tp:s:m", "'n/x': the filter must stand between two slashes" },
		{ "a=tp:s:n//..tp:s:m", "'n//': the filter must stand between two slashes" },
		{ "a=tp:s:/x/..tp:s:m", "'/x/': the filter must stand between two slashes" },
		{ "a=tp:s:n..tp:s:m/x/y", "'m/x/y': the filter must stand between two slashes" },
		{ "a=tp:s:n", "'tp': has no EXIT" },
		{ "a=usdt:/b:p:q", "'usdt': has no EXIT" },
		{ "a=usdt:/b:p..fn:f", "'usdt': must be usdt:FILE:PROVIDER:NAME" },
		{ "a=uprobe:/b", "'uprobe': must be uprobe:FILE:SYMBOL" },
		{ "a=uretprobe:/b:f", "'uretprobe': has no EXIT" },
		{ "a=uretprobe:/b:f..fn:g", "'uretprobe': can only be an EXIT" },
		{ "a=fn:f..fn:", "'fn': must be fn:FUNCTION" },
		{ "a=,overrun", "'': must be tp:SYS:NAME[/FILTER/], fn:FUNCTION" },
		{ "a=fn:f,by=", "'': by must be thread, cpu" },
		{ "a=fn:f,by=pid", "'pid': by must be thread, cpu" },
		{ "a=fn:f,by=arg0", "'arg0': by must be thread, cpu" },
		{ "a=fn:f,by=arg6", "'arg6': by must be thread, cpu" },
		{ "a=fn:f,by=arg12", "'arg12': by must be thread, cpu" },
		{ "a=tp:s:n..tp:s:m,by=arg1", "'arg1': by must be thread, cpu" },
		{ "a=tp:s:n..fn:f,by=pid", "'pid': by must be thread, cpu" },
		{ "a=uprobe:/b:f,by=arg1", "'arg1': a return has no arguments" },
	};
	struct messages messages;
	struct span span;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(parse(&span, rows[i].text, &messages), -EINVAL);
		assert_int_equal(messages.nr, 1);
		assert_non_null(strstr(messages.text, rows[i].message));
		assert_null(span.name);
	}
}

/* The test itself has the functions. */
int plain_function(int value);
int mangled(int value) __asm__("_ZN9somewhere5Class6methodEi");
int constant(int value) __asm__("_ZNK9somewhere5Class4sizeEv");
int global_function(int value) __asm__("_Z6globali");
int overloaded(int value) __asm__("_Z5twicei");
int overloaded_more(int value) __asm__("_Z5twicel");

#define FUNCTION(name, factor)                                                                     \
	__attribute__((noinline)) int name(int value)                                              \
	{                                                                                          \
		return value * (factor);                                                           \
	}
FUNCTION(plain_function, 3)
FUNCTION(mangled, 5)
FUNCTION(constant, 7)
FUNCTION(global_function, 11)
FUNCTION(overloaded, 13)
FUNCTION(overloaded_more, 17)

/* The file's code at that place. */
static bool is_there(const char *name, const void *function)
{
	FILE *file = fopen("/proc/self/exe", "re");
	unsigned char code[8];
	uint64_t offset = 0;
	bool same;

	assert_non_null(file);
	assert_int_equal(elf_function_find("/proc/self/exe", name, &offset), 0);
	assert_int_equal(fseek(file, (long)offset, SEEK_SET), 0);
	assert_int_equal(fread(code, 1, sizeof(code), file), sizeof(code));
	same = !memcmp(code, function, sizeof(code));
	fclose(file);
	return same;
}

TEST(finds_functions)
{
	uint64_t offset;

	assert_true(is_there("plain_function", plain_function));
	assert_true(is_there("_Z6globali", global_function));
	assert_true(is_there("global", global_function));
	assert_true(is_there("somewhere::Class::method", mangled));
	assert_true(is_there("somewhere::Class::size", constant));
	assert_true(is_there("_Z5twicel", overloaded_more));
	assert_int_equal(elf_function_find("/proc/self/exe", "twice", &offset), -ENOTUNIQ);
	assert_int_equal(elf_function_find("/proc/self/exe", "somewhere::Class", &offset), -ENOENT);
	assert_int_equal(elf_function_find("/proc/self/exe", "plain", &offset), -ENOENT);
	assert_int_equal(elf_function_find("/proc/self/exe", "::", &offset), -ENOENT);
	assert_int_equal(elf_function_find("/proc/self/exe", "", &offset), -ENOENT);
	assert_int_equal(elf_function_find("/proc/version", "main", &offset), -ENOEXEC);
	assert_int_equal(elf_function_find("/nowhere", "main", &offset), -ENOENT);
}
