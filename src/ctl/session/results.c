// SPDX-License-Identifier: GPL-2.0-only
#include "session/session_internal.h"

#include <string.h>

#include "array.h"

/* s may be NULL. Sets *failed if out of memory. */
static const char *copy_capture_string(const char *s, bool *failed)
{
	char *copy = s ? strdup(s) : NULL;

	*failed |= s && !copy;
	return copy;
}

static void results_release_capture(struct perf_poke_capture *capture)
{
	free((char *)capture->path);
	free((char *)capture->recorder);
	if (capture->spike)
		free((char *)capture->spike->function_name);
	free((struct perf_poke_spike *)capture->spike);
}

int results_add_capture(struct results *results, const struct perf_poke_capture *capture)
{
	struct perf_poke_capture copy = *capture;
	struct perf_poke_spike *spike;
	size_t nr = results->nr_captures;
	bool failed = false;

	if (array_grow(&results->captures, nr, sizeof(copy)) ||
	    array_grow(&results->numbers, nr, sizeof(*results->numbers)))
		return -ENOMEM;
	copy.path = copy_capture_string(capture->path, &failed);
	copy.recorder = copy_capture_string(capture->recorder, &failed);
	copy.spike = spike = malloc(sizeof(*spike));
	if (spike) {
		*spike = *capture->spike;
		spike->function_name = copy_capture_string(spike->function_name, &failed);
		/* Valid as long as the capture, which is not copied. */
		spike->stack = spike->holder = NULL;
		spike->nr_frames = spike->nr_holder_frames = 0;
	}
	if (failed || !spike) {
		results_release_capture(&copy);
		return -ENOMEM;
	}
	results->numbers[nr] = results_count_taken(results) + 1;
	results->nr_poked += capture->spike->poked;
	results->captures[results->nr_captures++] = copy;
	return 0;
}

void results_remove_capture(struct results *results, const char *path)
{
	size_t i = 0, rest;

	while (i < results->nr_captures && strcmp(results->captures[i].path, path))
		i++;
	if (i == results->nr_captures)
		return;
	results_release_capture(&results->captures[i]);
	rest = --results->nr_captures - i;
	memmove(&results->captures[i], &results->captures[i + 1],
		rest * sizeof(*results->captures));
	memmove(&results->numbers[i], &results->numbers[i + 1], rest * sizeof(*results->numbers));
	results->nr_removed++;
}

size_t results_count_taken(const struct results *results)
{
	return results->nr_captures + results->nr_removed;
}

size_t results_capture_number(const struct results *results, size_t i)
{
	return results->numbers ? results->numbers[i] : i + 1;
}

struct buckets {
	struct perf_poke_bucket *array;
	size_t nr;
	bool failed;
};

static void results_add_bucket(void *ctx, const struct perf_poke_bucket *bucket)
{
	struct buckets *buckets = ctx;

	if (array_grow(&buckets->array, buckets->nr, sizeof(*bucket)))
		buckets->failed = true;
	else
		buckets->array[buckets->nr++] = *bucket;
}

static int results_collect_row(struct result_row *row, const struct perf_poke *pp,
			       enum perf_poke_trigger_kind kind, int cpu)
{
	struct buckets buckets = { 0 };
	int err;

	row->cpu = cpu;
	row->stats.sz = sizeof(row->stats);
	err = perf_poke__stats(pp, kind, cpu, &row->stats);
	if (!err)
		err = perf_poke__percentile(pp, kind, cpu, 50, &row->p50_ns);
	if (!err)
		err = perf_poke__percentile(pp, kind, cpu, 99, &row->p99_ns);
	if (!err)
		err = perf_poke__percentile(pp, kind, cpu, 99.9, &row->p999_ns);
	if (err)
		return err;
	err = perf_poke__histogram(pp, kind, cpu, results_add_bucket, &buckets);
	row->buckets = buckets.array;
	row->nr_buckets = buckets.nr;
	if (err < 0)
		return err;
	return buckets.failed ? -ENOMEM : 0;
}

static int results_collect_kind(struct result_kind *result, const struct perf_poke *pp,
				enum perf_poke_trigger_kind kind)
{
	const int *cpus;
	size_t nr;
	int err = 0;

	cpus = perf_poke__cpus(pp, &nr);
	result->rows = calloc(nr, sizeof(*result->rows));
	if (!result->rows)
		return -ENOMEM;
	for (size_t i = 0; i < nr && !err; i++)
		err = results_collect_row(&result->rows[i], pp, kind, cpus[i]);
	return err ? err : results_collect_row(&result->all, pp, kind, ALL_CPUS);
}

int results_collect(struct results *results, const struct perf_poke *pp)
{
	int err = 0;

	perf_poke__cpus(pp, &results->nr_rows);
	for (size_t kind = 0; kind < KINDS_MAX && !err; kind++) {
		struct perf_poke_stats stats = { .sz = sizeof(stats) };

		err = perf_poke__stats(pp, kind, ALL_CPUS, &stats);
		if (!err)
			err = results_collect_kind(&results->kinds[kind], pp, kind);
		else if (err == -ENXIO)
			err = 0;
	}
	return err ? err : sources_collect(&results->sources, pp, true);
}

static void results_release_rows(struct result_row *rows, size_t nr)
{
	for (size_t i = 0; rows && i < nr; i++)
		free(rows[i].buckets);
	free(rows);
}

void results_release(struct results *results)
{
	for (size_t kind = 0; kind < ARRAY_SIZE(results->kinds); kind++) {
		results_release_rows(results->kinds[kind].rows, results->nr_rows);
		free(results->kinds[kind].all.buckets);
	}
	for (size_t i = 0; i < results->nr_captures; i++)
		results_release_capture(&results->captures[i]);
	free(results->captures);
	free(results->numbers);
	perf_files_release(&results->perf.data);
	sources_release(&results->sources);
}

const char *kind_display_name(enum perf_poke_trigger_kind kind)
{
	return perf_poke__name(PERF_POKE_AXIS_TRIGGER, kind) ?: "?";
}

bool kind_has_threshold_ns(enum perf_poke_trigger_kind kind)
{
	const struct perf_poke_choice *row = perf_poke__choice(PERF_POKE_AXIS_TRIGGER, kind);

	return !row || !row->argument;
}

void kind_put_threshold(FILE *file, enum perf_poke_trigger_kind kind, uint64_t threshold_ns,
			bool *named)
{
	if (kind_has_threshold_ns(kind))
		fprintf(file, "%s %s %s", *named ? "," : ", threshold", kind_display_name(kind),
			FORMAT_TIME(threshold_ns));
	else
		fprintf(file, ", each %s", kind_display_name(kind));
	*named = kind_has_threshold_ns(kind);
}
