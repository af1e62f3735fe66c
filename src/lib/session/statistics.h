/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef LIB_SESSION_STATISTICS_H
#define LIB_SESSION_STATISTICS_H

#include "session/state.h"

/* Of a spike's CPU and kind, the spike included, or of all watched CPUs if it is of none. */
void statistics_take(const struct perf_poke *pp, const struct perf_poke_spike *spike,
		     struct stats_snapshot *snapshot);

#endif
