/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Structs of callers compiled against a version with fewer or more members. */
#ifndef SHARED_SIZED_STRUCT_H
#define SHARED_SIZED_STRUCT_H

#include <errno.h>
#include <stddef.h>
#include <string.h>

/* Copies a struct of from_size bytes to one of `size`; members that the source lacks become zero.
 * Returns 0, or -EINVAL if the source is shorter than `min`, or sets members that are unknown here.
 * Async-signal-safe. */
static inline int sized_struct_read(void *to, size_t size, const void *from, size_t from_size,
				    size_t min)
{
	const char *bytes = from;

	if (from_size < min)
		return -EINVAL;
	for (size_t i = size; i < from_size; i++) {
		if (bytes[i])
			return -EINVAL;
	}
	memset(to, 0, size);
	memcpy(to, from, from_size < size ? from_size : size);
	return 0;
}

#endif
