// SPDX-License-Identifier: GPL-2.0-only
#include "rtla_hist.h"

#include <inttypes.h>

#define NS_PER_US 1000
#define NS_PER_S 1000000000

/* The columns: of each CPU, the kinds that timerlat has. */
static const struct {
	enum perf_poke_trigger_kind kind;
	const char *name;
} columns[] = {
	{ PERF_POKE_TRIGGER_IRQ, "IRQ" },
	{ PERF_POKE_TRIGGER_THREAD, "Thr" },
	{ PERF_POKE_TRIGGER_USER, "Usr" },
};

typedef void (*cell_fn)(FILE *file, const struct result_row *row, int argument);

static void each_cell(FILE *file, const struct results *results, cell_fn fn, int argument)
{
	for (size_t i = 0; i < results->nr_rows; i++) {
		for (size_t c = 0; c < ARRAY_SIZE(columns); c++) {
			const struct result_row *rows = results_rows(results, columns[c].kind);

			if (rows)
				fn(file, &rows[i], argument);
		}
	}
	fputc('\n', file);
}

static uint64_t bin(const struct result_row *row, uint64_t first, uint64_t end)
{
	uint64_t count = 0;

	for (size_t i = 0; i < row->nr_buckets; i++) {
		uint64_t us = row->buckets[i].low_ns / NS_PER_US;

		if (us >= first && us < end)
			count += row->buckets[i].count;
	}
	return count;
}

static void print_bin(FILE *file, const struct result_row *row, int us)
{
	fprintf(file, "%9" PRIu64 " ", bin(row, us, us + 1));
}

static void print_over(FILE *file, const struct result_row *row, int us)
{
	fprintf(file, "%9" PRIu64 " ", bin(row, us, UINT64_MAX));
}

enum summary { SUMMARY_COUNT, SUMMARY_MIN, SUMMARY_AVG, SUMMARY_MAX };

static void print_summary(FILE *file, const struct result_row *row, int what)
{
	const struct perf_poke_stats *stats = &row->stats;

	if (what == SUMMARY_COUNT)
		fprintf(file, "%9" PRIu64 " ", stats->count);
	else if (!stats->count)
		fprintf(file, "%9c ", '-');
	else
		fprintf(file, "%9" PRIu64 " ",
			(what == SUMMARY_MIN   ? stats->min_ns
			 : what == SUMMARY_AVG ? stats->sum_ns / stats->count
					       : stats->max_ns) /
				NS_PER_US);
}

static bool has_any(const struct results *results, int us)
{
	for (size_t c = 0; c < ARRAY_SIZE(columns); c++) {
		const struct result_row *rows = results_rows(results, columns[c].kind);

		for (size_t i = 0; rows && i < results->nr_rows; i++) {
			if (bin(&rows[i], us, us + 1))
				return true;
		}
	}
	return false;
}

static void print_header(FILE *file, const struct results *results)
{
	uint64_t seconds = results->elapsed_ns / NS_PER_S;

	fprintf(file,
		"# RTLA timerlat histogram\n# Time unit is microseconds (us)\n"
		"# Duration: %3" PRIu64 " %02" PRIu64 ":%02" PRIu64 ":%02" PRIu64 "\nIndex",
		seconds / 86400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
	for (size_t i = 0; i < results->nr_rows; i++) {
		for (size_t c = 0; c < ARRAY_SIZE(columns); c++) {
			if (results_rows(results, columns[c].kind))
				fprintf(file, "   %s-%03d", columns[c].name, results->rows[i].cpu);
		}
	}
	fputc('\n', file);
}

void rtla_hist_print(FILE *file, const struct results *results)
{
	static const char *const summaries[] = { "count:", "min:  ", "avg:  ", "max:  " };

	print_header(file, results);
	for (int us = 0; us < RTLA_HIST_ENTRIES; us++) {
		if (!has_any(results, us))
			continue;
		fprintf(file, "%-6d", us);
		each_cell(file, results, print_bin, us);
	}
	fprintf(file, "over: ");
	each_cell(file, results, print_over, RTLA_HIST_ENTRIES);
	for (size_t i = 0; i < ARRAY_SIZE(summaries); i++) {
		fprintf(file, "%s", summaries[i]);
		each_cell(file, results, print_summary, i);
	}
}
