// SPDX-License-Identifier: GPL-2.0-only
#include "pt/trace_clock.h"

uint64_t trace_clock_ns(const struct trace_clock *clock, uint64_t tsc)
{
	uint64_t quotient, remainder;

	if (!clock->mult)
		return 0;
	if (clock->is_short)
		tsc = clock->cycles + ((tsc - clock->cycles) & clock->mask);
	quotient = tsc >> clock->shift;
	remainder = tsc & ((UINT64_C(1) << clock->shift) - 1);
	return clock->zero + quotient * clock->mult + ((remainder * clock->mult) >> clock->shift);
}

uint64_t trace_clock_tsc(const struct trace_clock *clock, uint64_t ns)
{
	uint64_t time = ns - clock->zero;

	if (!clock->mult)
		return 0;
	return ((time / clock->mult) << clock->shift) +
	       ((time % clock->mult) << clock->shift) / clock->mult;
}

uint64_t trace_clock_extend(uint64_t tsc56, uint64_t near)
{
	return near + (uint64_t)((int64_t)((tsc56 - near) << 8) >> 8);
}
