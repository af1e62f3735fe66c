// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "test.h"

#include <limits.h>
#include <stdlib.h>

/* The bounds of the section, from the linker. */
extern const struct CMUnitTest __start_tests[], __stop_tests[];

void check_golden(const struct golden_part *parts, size_t nr)
{
	const char *path = getenv("PERF_POKE_GOLDEN");
	char command[PATH_MAX + 20];
	FILE *pipe;

	assert_non_null(path);
	snprintf(command, sizeof(command),
		 getenv("PERF_POKE_UPDATE_GOLDEN") ? "cat >'%s'" : "diff -u '%s' - >&2", path);
	pipe = popen(command, "w");
	assert_non_null(pipe);
	for (size_t i = 0; i < nr; i++) {
		fprintf(pipe, "== %s\n", parts[i].name);
		parts[i].write(pipe);
	}
	assert_int_equal(pclose(pipe), 0);
}

int run_all(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
	return _cmocka_run_group_tests("tests", __start_tests, __stop_tests - __start_tests, set_up,
				       tear_down);
}

__attribute__((weak)) int main(void)
{
	return run_all(NULL, NULL);
}
