/* SPDX-License-Identifier: GPL-2.0-only */
/* Where, and how urgently, the thread that copies rings runs. */
#ifndef CTL_SESSION_PLACEMENT_H
#define CTL_SESSION_PLACEMENT_H

#include <stddef.h>

#include "util.h"

/* Keeps the calling thread, and those made later, on these CPUs. Returns 0 or a negative errno. */
int placement_keep(const char *cpus) _must_check_;

/*
 * Keep the calling thread off these CPUs, unless it may run nowhere else, and give it a real-time
 * priority. Threads made later get the CPUs but not the priority. Returns 0 or a negative errno: no
 * priority.
 */
int placement_apply(const int *watched, size_t nr);

/* Takes the priority back. */
void placement_release(void);

#endif
