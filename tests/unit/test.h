/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A test is registered where it is defined; test.c has a main() that runs all of the file. */
#ifndef TEST_H
#define TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The body has the fixture's `void **state`. */
#define TEST_WITH(test, set_up, tear_down)                                                         \
	static void test(void **state);                                                            \
	static const struct CMUnitTest test##_row                                                  \
		__attribute__((used, section("tests"), aligned(sizeof(void *)))) =                 \
			cmocka_unit_test_setup_teardown(test, set_up, tear_down);                  \
	static void test(void **state __attribute__((unused)))

#define TEST(test) TEST_WITH(test, NULL, NULL)

/* For a main() of one's own: runs all tests of the file. */
int run_all(CMFixtureFunction set_up, CMFixtureFunction tear_down);

#endif
