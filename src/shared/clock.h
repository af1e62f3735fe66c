/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SHARED_CLOCK_H
#define SHARED_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NSEC_PER_SEC UINT64_C(1000000000)

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

/* Converts CLOCK_MONOTONIC to CLOCK_REALTIME. */
static inline uint64_t clock_wall_ns(uint64_t monotonic_ns)
{
	return clock_ns(CLOCK_REALTIME) - (clock_ns(CLOCK_MONOTONIC) - monotonic_ns);
}

#endif
