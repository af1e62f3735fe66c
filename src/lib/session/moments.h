/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Random moments, uniformly distributed: one in each interval. */
#ifndef LIB_SESSION_MOMENTS_H
#define LIB_SESSION_MOMENTS_H

#include <stddef.h>
#include <stdint.h>

struct moments {
	uint64_t state; /* state of the generator; any number is a seed */
	uint64_t interval_ns;
	uint64_t end_ns; /* end of the newest moment's interval */
};

/* A moment in the next interval that begins now or later. */
uint64_t moments_next(struct moments *moments, uint64_t now_ns);

/* A random number below nr. */
size_t moments_pick(struct moments *moments, size_t nr);

#endif
