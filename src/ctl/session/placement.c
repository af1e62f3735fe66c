// SPDX-License-Identifier: GPL-2.0-only
#include "session/placement.h"

#include <sched.h>

#include "cpulist.h"

/* Above normal tasks, below threaded interrupts (50) and the user's real-time tasks. */
#define PRIORITY 10

int placement_keep(const char *cpus)
{
	_cleanup_free_ int *list = NULL;
	size_t nr;
	int r = cpulist_parse(cpus, &list, &nr);

	return r ? r : affinity_set(list, nr);
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
