// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "perf_poke.h"

const char *perf_poke__version(void)
{
	return PERF_POKE_VERSION;
}
