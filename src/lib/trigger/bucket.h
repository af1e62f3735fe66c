/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef LIB_TRIGGER_BUCKET_H
#define LIB_TRIGGER_BUCKET_H

#include <stdint.h>

#include "bpf/trigger.h"

/* The smallest latency in a bucket: the inverse of trigger_bucket(). */
static inline uint64_t bucket_low_ns(unsigned int bucket)
{
	unsigned int octave;

	if (bucket < TRIGGER_SUB_BUCKETS)
		return (uint64_t)bucket << TRIGGER_UNIT_SHIFT;
	octave = bucket / TRIGGER_SUB_BUCKETS - 1;
	return (uint64_t)(bucket % TRIGGER_SUB_BUCKETS + TRIGGER_SUB_BUCKETS)
	       << (octave + TRIGGER_UNIT_SHIFT);
}

#endif
