/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints a histogram of latencies as text. */
#ifndef CTL_SESSION_HISTOGRAM_H
#define CTL_SESSION_HISTOGRAM_H

#include <perf_poke.h>
#include <stdio.h>

#define HISTOGRAM_MAX_ROWS 12

/* The buckets are in ascending order. */
void histogram_print(FILE *file, const struct perf_poke_bucket *buckets, size_t nr);

#endif
