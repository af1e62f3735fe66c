/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* CPU lists in the kernel's format, such as `2,4-7`, and affinities. */
#ifndef SHARED_CPULIST_H
#define SHARED_CPULIST_H

#include <stdbool.h>
#include <stddef.h>

#include "util.h"

/* CPU lists in the kernel's format, such as `2,4-7`. */
/* The kernel's largest NR_CPUS. */
#define CPULIST_MAX_CPUS 8192

/*
 * Allocates a sorted array without duplicates. Returns 0, -EINVAL if malformed, -ERANGE if a CPU
 * number is not below CPULIST_MAX_CPUS, or -ENOMEM. *cpus and *nr are set on success only.
 */
int cpulist_parse(const char *s, int **cpus, size_t *nr) _must_check_;

/* Parses a file such as /sys/devices/system/cpu/online. An empty line gives NULL and 0. */
int cpulist_read(const char *path, int **cpus, size_t *nr) _must_check_;

/* Parses a list, or one of the words `all`: the CPUs that are online, and `isolated`: those of them
 * that the kernel keeps free of other tasks (isolcpus=, cpuset partitions) or of the tick
 * (nohz_full=). Returns as cpulist_read(); no CPU is isolated: 0 and *nr 0. */
int cpulist_parse_words(const char *s, int **cpus, size_t *nr) _must_check_;

/* Whether it is one of these words. */
bool cpulist_is_word(const char *s);

/* Formats a sorted array without duplicates into an allocated string. Returns 0 or -ENOMEM. */
int cpulist_format(const int *cpus, size_t nr, char **list) _must_check_;

/* The first CPU of the sorted array `cpus` that the sorted array `in` lacks; -1: none. */
int cpulist_missing(const int *cpus, size_t nr, const int *in, size_t nr_in);

/* Both act on the calling thread; threads that it creates inherit the affinity. */

/* Removes these CPUs from the affinity, unless none would be left. */
void affinity_leave(const int *cpus, size_t nr);

/* Returns 0 or a negative errno. */
int affinity_set(const int *cpus, size_t nr) __attribute__((warn_unused_result));

#endif
