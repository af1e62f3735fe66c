/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BENCH_MEDIAN_H
#define BENCH_MEDIAN_H

#include <stdlib.h>

static int compare_doubles(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts the values. */
static double median(double *values, size_t nr)
{
	qsort(values, nr, sizeof(*values), compare_doubles);
	return values[nr / 2];
}

#endif
