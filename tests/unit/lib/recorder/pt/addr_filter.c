// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* On a fake /proc/kallsyms. */
#include "recorder/pt/pt.h"

#include <string.h>

#include "messages.h"
#include "test.h"
#include "util.h"

static struct messages messages;
static const struct log log_of_test = { messages_add, &messages };
static const char *symbols;

static const char kernel[] = "0000000000004000 A fixed_percpu_data\n"
			     "ffffffff81000000 T startup\n"
			     "ffffffff81000040 t one\n"
			     "ffffffff81000040 t one_alias\n"
			     "ffffffff81000080 t twice\n"
			     "ffffffff81000100 T global\n"
			     "ffffffff81000180 t global\n"
			     "ffffffff81000200 t twice\n"
			     "ffffffff81000300 T _etext\n"
			     "ffffffff82000000 D data\n"
			     "ffffffffc0000210 t last\t[snd]\n"
			     "ffffffffc0000200 t of_module\t[snd]\n"
			     "ffffffffc0000100 t unsorted\t[snd]\n";

FILE *__wrap_fopen(const char *path, const char *mode)
{
	assert_string_equal(path, "/proc/kallsyms");
	assert_string_equal(mode, "re");
	return fmemopen((char *)symbols, strlen(symbols), "r");
}

FILE *__wrap_fopen64(const char *path, const char *mode) __attribute__((alias("__wrap_fopen")));

static int setup(void **state)
{
	symbols = kernel;
	return 0;
}

static int resolve(const char *text, char **resolved)
{
	memset(&messages, 0, sizeof(messages));
	*resolved = NULL;
	return addr_filter_resolve(resolved, text, 4, &log_of_test);
}

static void check_resolved(const char *text, const char *expected)
{
	_cleanup_free_ char *resolved = NULL;

	if (resolve(text, &resolved))
		fail_msg("'%s': %s", text, messages.text);
	assert_string_equal(resolved, expected);
	assert_int_equal(messages.nr, 0);
}

static void check_error(const char *text, int err, const char *message)
{
	char *resolved;

	assert_int_equal(resolve(text, &resolved), err);
	assert_null(resolved);
	assert_int_equal(messages.nr, 1);
	assert_string_equal(messages.text, message);
}

TEST_WITH(takes_numbers, setup, NULL)
{
	check_resolved("filter 0xffffffff81000000/0x10", "filter 0xffffffff81000000/0x10");
	check_resolved("filter 4096 / 16", "filter 0x1000/0x10");
	check_resolved("stop 010/0x10", "stop 0x8/0x10");
	check_resolved("tracestop 0x10/1", "stop 0x10/0x1");
}

TEST_WITH(takes_kernel_symbols, setup, NULL)
{
	check_resolved("filter one", "filter 0xffffffff81000040/0x40");
	check_resolved("  filter   one  ", "filter 0xffffffff81000040/0x40");
	check_resolved("filter one_alias", "filter 0xffffffff81000040/0x40");
	check_resolved("filter one/0x4", "filter 0xffffffff81000040/0x4");
	check_resolved("filter startup / one", "filter 0xffffffff81000000/0x80");
	check_resolved("filter 0xffffffff81000010/one", "filter 0xffffffff81000010/0x70");
	check_resolved("filter startup / 0x8", "filter 0xffffffff81000000/0x8");
	check_resolved("tracestop one", "stop 0xffffffff81000040/0x40");
	check_resolved("filter unsorted", "filter 0xffffffffc0000100/0x100");
	check_resolved("filter of_module", "filter 0xffffffffc0000200/0x10");
	/* A page behind the last function. */
	check_resolved("filter *", "filter 0xffffffff81000000/0x3f002000");
}

TEST_WITH(takes_the_nth, setup, NULL)
{
	check_resolved("filter twice #1", "filter 0xffffffff81000080/0x80");
	check_resolved("filter twice#2", "filter 0xffffffff81000200/0x100");
	check_resolved("filter twice # 2", "filter 0xffffffff81000200/0x100");
	check_resolved("filter twice #1 / twice #2", "filter 0xffffffff81000080/0x280");
	check_resolved("filter global #g", "filter 0xffffffff81000100/0x80");
	check_resolved("filter global #G", "filter 0xffffffff81000100/0x80");
	check_resolved("filter global #0", "filter 0xffffffff81000100/0x80");
	check_resolved("filter global #2", "filter 0xffffffff81000180/0x80");
}

TEST_WITH(takes_several, setup, NULL)
{
	const char *both = "filter 0xffffffff81000040/0x40,stop 0xffffffff81000000/0x40";

	check_resolved("filter one, tracestop startup", both);
	check_resolved("filter one,tracestop startup", both);
	check_resolved("filter one tracestop startup", both);
	check_resolved("filter one/0x40,tracestop startup / 64 ,", both);
}

TEST_WITH(refuses_symbols, setup, NULL)
{
	check_error("filter two", -ENOENT,
		    "address filter 'filter two': the kernel has no function 'two' "
		    "(see /proc/kallsyms)");
	check_error("filter data", -ENOENT,
		    "address filter 'filter data': the kernel has no function 'data' "
		    "(see /proc/kallsyms)");
	check_error("filter one, filter startup / twice , filter one", -EINVAL,
		    "address filter 'filter startup / twice': 2 functions are named 'twice': "
		    "append one of #1 (0xffffffff81000080), #2 (0xffffffff81000200)");
	check_error("filter twice #3", -ENOENT,
		    "address filter 'filter twice #3': there is no 'twice' #3: use a number from "
		    "#1 to #2");
	check_error("filter twice #g", -ENOENT,
		    "address filter 'filter twice #g': no function 'twice' is global: use #1 or "
		    "another number");
	check_error("filter one / startup", -EINVAL,
		    "address filter 'filter one / startup': the end 'startup' "
		    "(0xffffffff81000000) is before the beginning (0xffffffff81000040): swap them");
	check_error("filter last", -EINVAL,
		    "address filter 'filter last': the range has no size: append / SIZE, not 0");
	symbols = "0000000000000000 T one\n";
	check_error("filter one", -EPERM,
		    "address filter 'filter one': the kernel hides its addresses: needs "
		    "CAP_SYSLOG, and kernel.kptr_restrict below 2");
	check_error("filter *", -EPERM,
		    "address filter 'filter *': the kernel hides its addresses: needs CAP_SYSLOG, "
		    "and kernel.kptr_restrict below 2");
}

#define NO_TRIGGERS                                                                                \
	"Intel PT has neither start nor stop at an address: use filter or tracestop with a range"

TEST_WITH(refuses_bad_syntax, setup, NULL)
{
	static const char *const cases[][3] = {
		{ "fliter one", "fliter one",
		  "'fliter' is none of filter, tracestop, stop (see man perf-record)" },
		{ "filter one,two", "two",
		  "'two' is none of filter, tracestop, stop (see man perf-record)" },
		{ "filter", "filter",
		  "a symbol or address is missing: use filter SYMBOL [/ SIZE] (see man "
		  "perf-record)" },
		{ "filter one /", "filter one /",
		  "a symbol or address is missing: use filter SYMBOL [/ SIZE] (see man "
		  "perf-record)" },
		{ "filter one #", "filter one #",
		  "# must be followed by a number, as in #1, or by g (the global one)" },
		{ "filter one #-1", "filter one #-1",
		  "# must be followed by a number, as in #1, or by g (the global one)" },
		{ "filter 0x10z/1", "filter 0x10z/1", "'0x10z' is not a number" },
		{ "filter 99999999999999999999/1", "filter 99999999999999999999/1",
		  "'99999999999999999999' is not a number" },
		{ "filter 0x10", "filter 0x10", "the range has no size: append / SIZE, not 0" },
		{ "filter one/0", "filter one/0", "the range has no size: append / SIZE, not 0" },
		{ "filter * / 1", "filter * / 1", "* is the whole kernel and takes no size" },
		{ "start one", "start one", NO_TRIGGERS },
		{ "stop one,filter one", "stop one,filter one", NO_TRIGGERS },
		{ "filter 1/1@/bin/sh", "filter 1/1@/bin/sh",
		  "@: the kernel filters by a FILE for events of one task only, and these are "
		  "events of CPUs: use kernel symbols" },
	};
	char message[300];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(message, sizeof(message), "address filter '%s': %s", cases[i][1],
			 cases[i][2]);
		check_error(cases[i][0], -EINVAL, message);
	}
	check_error(" ", -EINVAL,
		    "address filter ' ': empty: use filter SYMBOL [/ SIZE] (see man perf-record)");
}

TEST_WITH(refuses_more_than_the_pmu_has, setup, NULL)
{
	_cleanup_free_ char *resolved = NULL;

	check_resolved("filter 1/1,filter 2/1,filter 3/1,filter 4/1",
		       "filter 0x1/0x1,filter 0x2/0x1,filter 0x3/0x1,filter 0x4/0x1");
	check_error("filter 1/1,filter 2/1,filter 3/1,filter 4/1,filter 5/1", -EINVAL,
		    "address filter 'filter 5/1': the PMU has 4 address ranges: remove this filter "
		    "and those after it");
	assert_int_equal(addr_filter_resolve(&resolved, "filter one", 0, &log_of_test), -EINVAL);
	assert_string_equal(messages.text,
			    "address filter 'filter one': the PMU has 0 address ranges: this CPU "
			    "cannot filter");
}

TEST(says_what_is_not_supported)
{
	assert_non_null(strstr(addr_filter_unsupported("stop 0x1/0x1"), "tracestop is not"));
}
