// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "memory.h"

#include "io.h"
#include "util.h"

/* As RLIMIT_DATA counts it; 0: unknown. */
static uint64_t memory_used(void)
{
	unsigned long pages;
	char text[128];

	if (read_text_at(AT_FDCWD, "/proc/self/statm", text, sizeof(text)) ||
	    sscanf(text, "%*u %*u %*u %*u %*u %lu", &pages) != 1)
		return 0;
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

bool memory_bound(uint64_t more, struct rlimit *before)
{
	uint64_t used = memory_used();
	struct rlimit limit;

	if (!used || getrlimit(RLIMIT_DATA, before) || before->rlim_cur <= used + more)
		return false;
	limit = *before;
	limit.rlim_cur = used + more;
	return !setrlimit(RLIMIT_DATA, &limit);
}
