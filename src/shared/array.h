/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Growing arrays, and binary searches. */
#ifndef SHARED_ARRAY_H
#define SHARED_ARRAY_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "util.h"

/* Makes room for one more item in the array that `array` points to: doubles it at each power of
 * two. */
static inline int array_grow(void *array, size_t nr, size_t size)
{
	void **items = array, *grown;

	if (nr & (nr - 1))
		return 0;
	grown = reallocarray(*items, nr ? 2 * nr : 1, size);
	if (!grown)
		return -ENOMEM;
	*items = grown;
	return 0;
}

/* Number of leading items for which `is_before` holds, an expression of the index `i`. */
#define ARRAY_COUNT_BEFORE(nr, i, is_before)                                                       \
	({                                                                                         \
		size_t low_ = 0, high_ = (nr);                                                     \
		while (low_ < high_) {                                                             \
			size_t i = low_ + (high_ - low_) / 2;                                      \
			if (is_before)                                                             \
				low_ = i + 1;                                                      \
			else                                                                       \
				high_ = i;                                                         \
		}                                                                                  \
		low_;                                                                              \
	})

/* For qsort(). */
static inline int array_compare(uint64_t one, uint64_t other)
{
	return (one > other) - (one < other);
}

#endif
