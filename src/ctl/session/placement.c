// SPDX-License-Identifier: GPL-2.0-only
#include "session/placement.h"

#include <sched.h>

#include "affinity.h"
#include "cpulist.h"

/* Above ordinary tasks; below threaded interrupts (50) and what a real-time system really is for.
 */
#define PRIORITY 10

static void cpu_freep(cpu_set_t **set)
{
	CPU_FREE(*set);
}

int placement_keep(const char *cpus)
{
	const size_t size = CPU_ALLOC_SIZE(CPULIST_MAX_CPUS);
	_cleanup_(cpu_freep) cpu_set_t *set = CPU_ALLOC(CPULIST_MAX_CPUS);
	_cleanup_free_ int *list = NULL;
	size_t nr;
	int r;

	if (!set)
		return -ENOMEM;
	r = cpulist_parse(cpus, &list, &nr);
	if (r)
		return r;
	CPU_ZERO_S(size, set);
	for (size_t i = 0; i < nr; i++)
		CPU_SET_S(list[i], size, set);
	return sched_setaffinity(0, size, set) ? -errno : 0;
}

int placement_apply(const int *watched, size_t nr)
{
	const struct sched_param param = { .sched_priority = PRIORITY };

	affinity_leave(watched, nr);
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param))
		return -errno;
	return 0;
}

void placement_release(void)
{
	sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){ 0 });
}
