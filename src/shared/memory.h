/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A bound of this process's private memory (RLIMIT_DATA). Allocations beyond it fail. */
#ifndef SHARED_MEMORY_H
#define SHARED_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

/* Allows so many bytes more than are used now. Returns whether it did: not where that is unknown,
 * or a lower bound is set already. *before is what it was, for memory_unbound(). */
bool memory_bound(uint64_t more, struct rlimit *before);

static inline void memory_unbound(const struct rlimit *before)
{
	setrlimit(RLIMIT_DATA, before);
}

#endif
