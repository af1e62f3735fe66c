// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/nofile.h"

#include <sys/resource.h>

void nofile_raise(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}
