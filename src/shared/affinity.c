// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "affinity.h"

#include <sched.h>

#include "cpulist.h"

static void cpu_freep(cpu_set_t **set)
{
	CPU_FREE(*set);
}

void affinity_leave(const int *cpus, size_t nr)
{
	const size_t size = CPU_ALLOC_SIZE(CPULIST_MAX_CPUS);
	_cleanup_(cpu_freep) cpu_set_t *set = CPU_ALLOC(CPULIST_MAX_CPUS);

	if (!set || sched_getaffinity(0, size, set))
		return;
	for (size_t i = 0; i < nr; i++)
		CPU_CLR_S(cpus[i], size, set);
	if (CPU_COUNT_S(size, set))
		sched_setaffinity(0, size, set);
}

int affinity_set(const int *cpus, size_t nr)
{
	const size_t size = CPU_ALLOC_SIZE(CPULIST_MAX_CPUS);
	_cleanup_(cpu_freep) cpu_set_t *set = CPU_ALLOC(CPULIST_MAX_CPUS);

	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(size, set);
	for (size_t i = 0; i < nr; i++)
		CPU_SET_S(cpus[i], size, set);
	return sched_setaffinity(0, size, set) ? -errno : 0;
}
