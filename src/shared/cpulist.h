/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Lists of CPUs as the kernel writes them: `2,4-7`. */
#ifndef SHARED_CPULIST_H
#define SHARED_CPULIST_H

#include <stddef.h>

#include "util.h"

/* CPU numbers are below this: the kernel's largest NR_CPUS. */
#define CPULIST_MAX_CPUS 8192

/*
 * A sorted array without duplicates, for the caller to free. Returns 0, -EINVAL if malformed,
 * -ERANGE if a CPU is not below CPULIST_MAX_CPUS, -ENOMEM; *cpus and *nr are written on success
 * only.
 */
int cpulist_parse(const char *s, int **cpus, size_t *nr) _must_check_;

/* The list in a file, as /sys/devices/system/cpu/online. No CPU (NULL, 0) if it is an empty line.
 */
int cpulist_read(const char *path, int **cpus, size_t *nr) _must_check_;

/* The shortest list of a sorted array without duplicates, for the caller to free. Returns 0 or
 * -ENOMEM. */
int cpulist_format(const int *cpus, size_t nr, char **list) _must_check_;

#endif
