// SPDX-License-Identifier: GPL-2.0-only
#include "results.h"

#include <string.h>

/* A copy of s, which may be NULL; *failed is left alone when it worked. */
static const char *copy_string(const char *s, bool *failed)
{
	char *copy = s ? strdup(s) : NULL;

	*failed |= s && !copy;
	return copy;
}

static void release_capture(struct perf_poke_capture *capture)
{
	free((char *)capture->path);
	free((char *)capture->recorder);
	free((char *)capture->spike.function_name);
}

int results_add_capture(struct results *results, const struct perf_poke_capture *capture)
{
	struct perf_poke_capture *captures, copy = *capture;
	bool failed = false;

	captures = reallocarray(results->captures, results->nr_captures + 1, sizeof(*captures));
	if (!captures)
		return -ENOMEM;
	results->captures = captures;

	copy.path = copy_string(capture->path, &failed);
	copy.recorder = copy_string(capture->recorder, &failed);
	copy.spike.function_name = copy_string(capture->spike.function_name, &failed);
	if (failed) {
		release_capture(&copy);
		return -ENOMEM;
	}
	captures[results->nr_captures++] = copy;
	return 0;
}

struct buckets {
	struct perf_poke_bucket *array;
	size_t nr;
	bool failed;
};

static void add_bucket(void *ctx, const struct perf_poke_bucket *bucket)
{
	struct buckets *buckets = ctx;
	struct perf_poke_bucket *array;

	array = reallocarray(buckets->array, buckets->nr + 1, sizeof(*array));
	if (!array) {
		buckets->failed = true;
		return;
	}
	array[buckets->nr++] = *bucket;
	buckets->array = array;
}

static int collect_row(struct result_row *row, const struct perf_poke *pp, int cpu)
{
	struct buckets buckets = { 0 };
	int r;

	row->cpu = cpu;
	row->stats.sz = sizeof(row->stats);
	r = perf_poke__stats(pp, cpu, &row->stats);
	if (!r)
		r = perf_poke__percentile(pp, cpu, 50, &row->p50_ns);
	if (!r)
		r = perf_poke__percentile(pp, cpu, 99, &row->p99_ns);
	if (!r)
		r = perf_poke__percentile(pp, cpu, 99.9, &row->p999_ns);
	if (r)
		return r;
	r = perf_poke__histogram(pp, cpu, add_bucket, &buckets);
	row->buckets = buckets.array;
	row->nr_buckets = buckets.nr;
	if (r < 0)
		return r;
	return buckets.failed ? -ENOMEM : 0;
}

int results_collect(struct results *results, const struct perf_poke *pp)
{
	const int *cpus;
	size_t nr;
	int r;

	cpus = perf_poke__cpus(pp, &nr);
	results->rows = calloc(nr, sizeof(*results->rows));
	if (!results->rows)
		return -ENOMEM;
	results->nr_rows = nr;
	for (size_t i = 0; i < nr; i++) {
		r = collect_row(&results->rows[i], pp, cpus[i]);
		if (r)
			return r;
	}
	return collect_row(&results->all, pp, ALL_CPUS);
}

void results_release(struct results *results)
{
	for (size_t i = 0; i < results->nr_rows; i++)
		free(results->rows[i].buckets);
	free(results->rows);
	free(results->all.buckets);
	for (size_t i = 0; i < results->nr_captures; i++)
		release_capture(&results->captures[i]);
	free(results->captures);
	perf_files_release(&results->perf.data);
}
