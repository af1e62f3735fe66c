// SPDX-License-Identifier: GPL-2.0-only
#include "session/histogram.h"

#include <inttypes.h>

#include "units.h"

/*
 * Rows end at powers of two, like the library's buckets. All latencies below the first power share
 * a row: they do not matter for tuning.
 */
#define FIRST_POWER 9

static int highest_bit(uint64_t value)
{
	return value ? 63 - __builtin_clzll(value) : -1;
}

/* Each row but the first spans this many octaves. */
static int row_of(uint64_t latency_ns, int octaves)
{
	int power = highest_bit(latency_ns);

	return power < FIRST_POWER ? 0 : (power - FIRST_POWER) / octaves + 1;
}

static uint64_t row_start(int row, int octaves)
{
	int power = FIRST_POWER + (row - 1) * octaves;

	if (row == 0)
		return 0;
	return power < 64 ? UINT64_C(1) << power : UINT64_MAX;
}

/* The bar is logarithmic, so that a single spike among millions is visible. */
static void print_row(FILE *file, uint64_t low_ns, uint64_t high_ns, uint64_t count)
{
	static const char bar[] =
		"################################################################";

	fprintf(file, "  %8s - %-8s %12" PRIu64 "%s%.*s\n", FORMAT_TIME(low_ns),
		high_ns == UINT64_MAX ? "" : FORMAT_TIME(high_ns), count, count ? "  " : "",
		highest_bit(count) + 1, bar);
}

void histogram_print(FILE *file, const struct perf_poke_bucket *buckets, size_t nr)
{
	int octaves = 1, first, last;
	size_t at = 0;

	if (!nr)
		return;
	while (row_of(buckets[nr - 1].low_ns, octaves) - row_of(buckets[0].low_ns, octaves) >=
	       HISTOGRAM_MAX_ROWS)
		octaves++;
	first = row_of(buckets[0].low_ns, octaves);
	last = row_of(buckets[nr - 1].low_ns, octaves);

	fprintf(file, "  %-19s %12s  %s\n", "latency", "expiries", "each # doubles");
	for (int row = first; row <= last; row++) {
		uint64_t count = 0;

		for (; at < nr && row_of(buckets[at].low_ns, octaves) == row; at++)
			count += buckets[at].count;
		print_row(file, row_start(row, octaves), row_start(row + 1, octaves), count);
	}
}
