// SPDX-License-Identifier: GPL-2.0-only
#include "placement.h"

#include <sched.h>

#include "affinity.h"
#include "util.h"

/* Above ordinary tasks; below threaded interrupts (50) and what a real-time system really is for.
 */
#define PRIORITY 10

int placement_apply(const int *watched, size_t nr)
{
	const struct sched_param param = { .sched_priority = PRIORITY };

	affinity_leave(watched, nr);
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param))
		return -errno;
	return 0;
}
