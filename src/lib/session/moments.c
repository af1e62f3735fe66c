// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/moments.h"

/* SplitMix64, by Sebastiano Vigna */
static uint64_t draw(struct moments *moments)
{
	uint64_t z = moments->state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

uint64_t moments_next(struct moments *moments, uint64_t now_ns)
{
	uint64_t begin_ns = moments->end_ns > now_ns ? moments->end_ns : now_ns;

	moments->end_ns = begin_ns + moments->interval_ns;
	return begin_ns + draw(moments) % moments->interval_ns;
}

size_t moments_pick(struct moments *moments, size_t nr)
{
	return (size_t)(draw(moments) % nr);
}
