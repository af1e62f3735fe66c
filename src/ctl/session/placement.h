/* SPDX-License-Identifier: GPL-2.0-only */
/* Affinity and priority of the thread that copies rings. */
#ifndef CTL_SESSION_PLACEMENT_H
#define CTL_SESSION_PLACEMENT_H

#include <stddef.h>

#include "util.h"

/* Moves the calling thread, and threads it creates, to a list of CPUs. Returns 0 or a negative
 * errno. */
int placement_keep(const char *cpus) _must_check_;

/* Moves the calling thread off these CPUs, if others are allowed, and makes it SCHED_FIFO. Threads
 * it creates inherit the affinity only. Returns 0, or the errno of setting the priority. */
int placement_apply(const int *watched, size_t nr);

/* Makes it SCHED_OTHER again. */
void placement_release(void);

#endif
