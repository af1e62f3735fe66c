/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SHARED_CLOCK_H
#define SHARED_CLOCK_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define NSEC_PER_USEC UINT64_C(1000)
#define NSEC_PER_MSEC UINT64_C(1000000)
#define NSEC_PER_SEC UINT64_C(1000000000)
#define NSEC_PER_MIN (60 * NSEC_PER_SEC)
#define NSEC_PER_HOUR (60 * NSEC_PER_MIN)

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

#define CLOCK_UTC_SIZE 64

/* Such as 2026-11-22T09:41:30.123456Z. */
static inline void clock_format_utc(char text[CLOCK_UTC_SIZE], uint64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / NSEC_PER_SEC);
	struct tm tm;
	size_t len;

	gmtime_r(&seconds, &tm);
	len = strftime(text, CLOCK_UTC_SIZE, "%FT%T", &tm);
	snprintf(text + len, CLOCK_UTC_SIZE - len, ".%06" PRIu64 "Z",
		 wall_ns % NSEC_PER_SEC / NSEC_PER_USEC);
}

#endif
