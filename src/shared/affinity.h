/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SHARED_AFFINITY_H
#define SHARED_AFFINITY_H

#include <stddef.h>

/* Both act on the calling thread; threads that it creates inherit the affinity. */

/* Removes these CPUs from the affinity, unless none would be left. */
void affinity_leave(const int *cpus, size_t nr);

/* Returns 0 or a negative errno. */
int affinity_set(const int *cpus, size_t nr) __attribute__((warn_unused_result));

#endif
