// SPDX-License-Identifier: GPL-2.0-only
#include "session/rtla_hist.h"

#include <assert.h>
#include <inttypes.h>

#define NS_PER_US 1000
#define NS_PER_S 1000000000

/* The columns of each CPU. */
static const struct {
	enum perf_poke_trigger_kind kind;
	const char *name;
} columns[] = {
	{ PERF_POKE_TRIGGER_IRQ, "IRQ" },
	{ PERF_POKE_TRIGGER_THREAD, "Thr" },
	{ PERF_POKE_TRIGGER_USER, "Usr" },
};

enum summary { SUMMARY_COUNT, SUMMARY_MIN, SUMMARY_AVG, SUMMARY_MAX, SUMMARIES };

static const char *const summary_names[] = { "count:", "min:  ", "avg:  ", "max:  " };
static_assert(ARRAY_SIZE(summary_names) == SUMMARIES, "one each");

typedef void (*cell_fn)(FILE *file, const struct result_row *row, uint64_t argument);

/* rtla omits CPUs without samples. */
static bool has_cpu(const struct results *results, size_t i)
{
	bool found = false;

	for (size_t c = 0; c < ARRAY_SIZE(columns); c++) {
		const struct result_row *rows = results->kinds[columns[c].kind].rows;

		found |= rows && rows[i].stats.count;
	}
	return found;
}

static void each_cell(FILE *file, const struct results *results, cell_fn fn, uint64_t argument)
{
	for (size_t i = 0; i < results->nr_rows; i++) {
		for (size_t c = 0; c < ARRAY_SIZE(columns) && has_cpu(results, i); c++) {
			const struct result_row *rows = results->kinds[columns[c].kind].rows;

			if (rows)
				fn(file, &rows[i], argument);
		}
	}
	fputc('\n', file);
}

static void print_bucket(FILE *file, const struct result_row *row, uint64_t bucket)
{
	fprintf(file, "%9" PRIu64 " ", row->linear[bucket]);
}

static void print_summary(FILE *file, const struct result_row *row, uint64_t what)
{
	const struct perf_poke_stats *stats = &row->stats;
	const uint64_t values[] = {
		[SUMMARY_MIN] = stats->min_ns,
		[SUMMARY_AVG] = stats->count ? stats->sum_ns / stats->count : 0,
		[SUMMARY_MAX] = stats->max_ns,
	};

	if (what == SUMMARY_COUNT)
		fprintf(file, "%9" PRIu64 " ", stats->count);
	else if (!stats->count)
		fprintf(file, "%9c ", '-');
	else
		fprintf(file, "%9" PRIu64 " ", values[what] / NS_PER_US);
}

static bool has_any(const struct results *results, uint64_t bucket)
{
	for (size_t c = 0; c < ARRAY_SIZE(columns); c++) {
		const struct result_row *rows = results->kinds[columns[c].kind].rows;

		for (size_t i = 0; rows && i < results->nr_rows; i++) {
			if (rows[i].linear[bucket])
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
		for (size_t c = 0; c < ARRAY_SIZE(columns) && has_cpu(results, i); c++) {
			if (results->kinds[columns[c].kind].rows)
				fprintf(file, "   %s-%03d", columns[c].name,
					results->kinds[PERF_POKE_TRIGGER_IRQ].rows[i].cpu);
		}
	}
	fputc('\n', file);
}

static void print_all(FILE *file, const struct results *results)
{
	fprintf(file, "ALL:  ");
	for (size_t c = 0; c < ARRAY_SIZE(columns); c++) {
		if (results->kinds[columns[c].kind].rows)
			fprintf(file, "%s%s", c ? "       " : "      ", columns[c].name);
	}
	fputc('\n', file);
	for (int what = 0; what < SUMMARIES; what++) {
		fprintf(file, "%s", summary_names[what]);
		for (size_t c = 0; c < ARRAY_SIZE(columns); c++) {
			if (results->kinds[columns[c].kind].rows)
				print_summary(file, &results->kinds[columns[c].kind].all, what);
		}
		fputc('\n', file);
	}
}

void rtla_hist_print(FILE *file, const struct results *results)
{
	uint64_t width_us = results->linear_width_ns / NS_PER_US;

	print_header(file, results);
	for (uint64_t bucket = 0; bucket < results->linear_entries; bucket++) {
		if (!has_any(results, bucket))
			continue;
		fprintf(file, "%-6" PRIu64, bucket * width_us);
		each_cell(file, results, print_bucket, bucket);
	}
	fprintf(file, "over: ");
	each_cell(file, results, print_bucket, results->linear_entries);
	for (int what = 0; what < SUMMARIES; what++) {
		fprintf(file, "%s", summary_names[what]);
		each_cell(file, results, print_summary, what);
	}
	print_all(file, results);
}
