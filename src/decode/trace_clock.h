/* SPDX-License-Identifier: GPL-2.0-only */
/* How the TSC, which Intel PT tells, becomes perf's time, and back. The arithmetic is that of the
 * comment at cap_user_time_zero in <linux/perf_event.h>. */
#ifndef DECODE_TRACE_CLOCK_H
#define DECODE_TRACE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* As AUXTRACE_INFO and TIME_CONV have it. */
struct trace_clock {
	uint64_t zero;
	uint64_t cycles, mask; /* of a TSC of fewer bits, if `is_short` */
	uint32_t mult;	       /* 0: the two are not related, or not known to be */
	uint8_t shift;
	bool is_short;
};

/* Without a relation the result is 0. */
uint64_t trace_clock_ns(const struct trace_clock *clock, uint64_t tsc);
uint64_t trace_clock_tsc(const struct trace_clock *clock, uint64_t ns);

/* Packets tell 56 bits. The rest is that of `near`, a full TSC less than 2^55 ticks away. */
uint64_t trace_clock_extend(uint64_t tsc56, uint64_t near);

#endif
