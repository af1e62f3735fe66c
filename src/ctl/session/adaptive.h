/* SPDX-License-Identifier: GPL-2.0-only */
/* Defaults of --adaptive. */
#ifndef CTL_SESSION_ADAPTIVE_H
#define CTL_SESSION_ADAPTIVE_H

#include <perf_poke.h>
#include <stdbool.h>
#include <stdint.h>

#define ADAPTIVE_WARMUP_NS UINT64_C(10000000000)
/* The threshold if --adaptive is given without --threshold. */
#define ADAPTIVE_NO_FLOOR_NS 1

/* Whether --adaptive alone determines the threshold. */
static inline bool adaptive_no_floor(const struct perf_poke_opts *opts, uint64_t threshold_ns)
{
	return opts->adaptive_percent > 0 && threshold_ns == ADAPTIVE_NO_FLOOR_NS;
}

#endif
