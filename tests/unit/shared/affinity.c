// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* With any number of CPUs that this process may run on. */
#include "affinity.h"

#include <sched.h>

#include "cpulist.h"
#include "test.h"

static cpu_set_t at_start;

static int keep(void **state)
{
	return sched_getaffinity(0, sizeof(at_start), &at_start);
}

static int restore(void **state)
{
	return sched_setaffinity(0, sizeof(at_start), &at_start);
}

static void check_set(const cpu_set_t *expected)
{
	cpu_set_t set;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	assert_true(CPU_EQUAL(&set, expected));
}

/* Fills `cpus` with the allowed ones. */
static size_t list_cpus(int cpus[CPU_SETSIZE])
{
	size_t nr = 0;

	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &at_start))
			cpus[nr++] = cpu;
	}
	return nr;
}

TEST_WITH(leaves_cpus, keep, restore)
{
	cpu_set_t rest = at_start;
	int cpus[CPU_SETSIZE];
	size_t nr = list_cpus(cpus);

	if (nr < 2) {
		print_message("needs two CPUs\n");
		skip();
	}
	affinity_leave(cpus + nr - 1, 1);
	CPU_CLR(cpus[nr - 1], &rest);
	check_set(&rest);
	/* Also all other CPUs but one. */
	affinity_leave(cpus + 1, nr - 1);
	CPU_ZERO(&rest);
	CPU_SET(cpus[0], &rest);
	check_set(&rest);
}

TEST_WITH(stays_when_there_is_no_other, keep, restore)
{
	int cpus[CPU_SETSIZE];
	size_t nr = list_cpus(cpus);

	affinity_leave(cpus, nr);
	check_set(&at_start);
}

TEST_WITH(stays_when_there_is_nothing_to_leave, keep, restore)
{
	const int far = CPULIST_MAX_CPUS - 1;

	affinity_leave(NULL, 0);
	check_set(&at_start);
	affinity_leave(&far, 1);
	check_set(&at_start);
}
