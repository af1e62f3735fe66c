/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SHARED_AFFINITY_H
#define SHARED_AFFINITY_H

#include <stddef.h>

/* Keeps the calling thread, and those it makes later, off these CPUs, unless it may run nowhere
 * else. */
void affinity_leave(const int *cpus, size_t nr);

/* Moves them to these CPUs. Returns 0 or a negative errno. */
int affinity_set(const int *cpus, size_t nr);

#endif
