// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "test.h"

/* The bounds of the section, from the linker. */
extern const struct CMUnitTest __start_tests[], __stop_tests[];

int run_all(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
	return _cmocka_run_group_tests("tests", __start_tests, __stop_tests - __start_tests, set_up,
				       tear_down);
}

__attribute__((weak)) int main(void)
{
	return run_all(NULL, NULL);
}
