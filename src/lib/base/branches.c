// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/branches.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A counting event: it never interrupts. The records are read only at a spike. */
static int open_one(int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.sample_type = PERF_SAMPLE_BRANCH_STACK,
		.branch_sample_type = BRANCHES_TYPE,
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int branches_open(int *fds, const int *cpus, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		fds[i] = open_one(cpus[i]);
		if (fds[i] >= 0)
			continue;
		branches_close(fds, i);
		return fds[i];
	}
	return 0;
}

void branches_close(int *fds, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		close(fds[i]);
}
