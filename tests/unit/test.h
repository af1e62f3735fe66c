/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A test is registered where it is defined; test.c has a main() that runs all of the file. */
#ifndef TEST_H
#define TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* The body has the fixture's `void **state`. */
#define TEST_WITH(test, set_up, tear_down)                                                         \
	static void test(void **state);                                                            \
	static const struct CMUnitTest test##_row                                                  \
		__attribute__((used, section("tests"), aligned(sizeof(void *)))) =                 \
			cmocka_unit_test_setup_teardown(test, set_up, tear_down);                  \
	static void test(void **state __attribute__((unused)))

#define TEST(test) TEST_WITH(test, NULL, NULL)

/* QEMU's user mode is no kernel, and does less. What is skipped there runs in a guest: see
 * tests/lab/guest/unit_suite.py. tests/fresh/run sets this in systems of another architecture. */
#define SKIP_IN_USER_MODE(reason)                                                                  \
	do {                                                                                       \
		if (getenv("PERF_POKE_QEMU_USER")) {                                               \
			print_message("skipped in QEMU's user mode: %s\n", reason);                \
			skip();                                                                    \
		}                                                                                  \
	} while (0)

/* The text that the statements write to `file`; to be freed. */
#define WRITTEN(file, ...)                                                                         \
	({                                                                                         \
		static char *_text;                                                                \
		static size_t _size;                                                               \
		FILE *file = open_memstream(&_text, &_size);                                       \
                                                                                                   \
		__VA_ARGS__;                                                                       \
		fclose(file);                                                                      \
		_text;                                                                             \
	})

/* Part of a test's golden file (PERF_POKE_GOLDEN), under the name of what writes it. */
struct golden_part {
	const char *name;
	void (*write)(FILE *file);
};

#define PART(function)                                                                             \
	{                                                                                          \
#function, function                                                                \
	}

/* Fails with a diff unless the golden file has these parts; with PERF_POKE_UPDATE_GOLDEN it is
 * written instead. */
void check_golden(const struct golden_part *parts, size_t nr);

#define GOLDEN(...)                                                                                \
	TEST(prints_what_the_golden_file_has)                                                      \
	{                                                                                          \
		static const struct golden_part parts[] = { __VA_ARGS__ };                         \
                                                                                                   \
		check_golden(parts, sizeof(parts) / sizeof(*parts));                               \
	}

/* For a custom main(): runs all tests of the file. */
int run_all(CMFixtureFunction set_up, CMFixtureFunction tear_down);

#endif
