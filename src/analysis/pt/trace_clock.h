/* SPDX-License-Identifier: GPL-2.0-only */
/* Converts the TSC in Intel PT to perf's time, and back, as described at cap_user_time_zero in
 * <linux/perf_event.h>. */
#ifndef DECODE_TRACE_CLOCK_H
#define DECODE_TRACE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Parameters from AUXTRACE_INFO and TIME_CONV. */
struct trace_clock {
	uint64_t zero;
	uint64_t cycles, mask; /* if `is_short`, for a TSC with fewer bits */
	uint32_t mult;	       /* 0: conversion unknown */
	uint8_t shift;
	bool is_short;
};

/* Both return 0 if the conversion is unknown. */
uint64_t trace_clock_ns(const struct trace_clock *clock, uint64_t tsc);
uint64_t trace_clock_tsc(const struct trace_clock *clock, uint64_t ns);

/* Packets contain 56 bits. The rest is taken from `near`, a full TSC less than 2^55 ticks away. */
uint64_t trace_clock_extend(uint64_t tsc56, uint64_t near);

#endif
