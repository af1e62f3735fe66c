// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Statistics and percentiles, read from the memory that the trigger writes. */
#include "trigger/stats.h"

#include <string.h>

#include "session/session.h"
#include "trigger/bucket.h"

static uint64_t bucket_count(const struct stats_table *table, unsigned int bucket)
{
	uint64_t count = 0;

	for (size_t i = 0; i < table->nr; i++)
		count += table->table[table->cpus[i]].buckets[bucket];
	return count;
}

struct perf_poke_stats stats_sum(const struct stats_table *table)
{
	struct perf_poke_stats sum = { .sz = sizeof(sum), .min_ns = UINT64_MAX };

	for (size_t i = 0; i < table->nr; i++) {
		const volatile struct trigger_cpu *one = &table->table[table->cpus[i]];
		uint64_t min_ns = ~one->min_inverse, max_ns = one->max_ns;

		sum.count += one->count;
		sum.sum_ns += one->sum_ns;
		sum.spikes += one->spikes;
		sum.unarmed += one->unarmed;
		if (one->last_ns > sum.last_ns)
			sum.last_ns = one->last_ns;
		if (min_ns < sum.min_ns)
			sum.min_ns = min_ns;
		if (max_ns > sum.max_ns)
			sum.max_ns = max_ns;
	}
	if (sum.min_ns == UINT64_MAX)
		sum.min_ns = 0;
	return sum;
}

uint64_t stats_percentile(const struct stats_table *table, double percent)
{
	uint64_t max_ns = stats_sum(table).max_ns;
	uint64_t total = 0, seen = 0, counts[TRIGGER_BUCKETS];
	double wanted;

	/* One look at each bucket: the total is that of what was seen. */
	for (unsigned int i = 0; i < TRIGGER_BUCKETS; i++)
		total += counts[i] = bucket_count(table, i);
	wanted = total * percent / 100;
	for (unsigned int i = 0; i < TRIGGER_BUCKETS && total; i++) {
		uint64_t high_ns = i + 1 < TRIGGER_BUCKETS ? bucket_low_ns(i + 1) - 1 : UINT64_MAX;

		seen += counts[i];
		/* The bucket's upper end, unless the maximum is known to be less. */
		if (seen && seen >= wanted)
			return high_ns < max_ns ? high_ns : max_ns;
	}
	return 0;
}

static int stats_select(const struct perf_poke *pp, enum perf_poke_trigger_kind kind, int cpu,
			struct stats_table *table)
{
	const struct config *config = &pp->config;

	if (!pp->trigger)
		return -ENOTCONN;
	/* Timers are counted whether or not they can be spikes. */
	if (kind && ((unsigned int)kind >= TRIGGER_KINDS || !config->thresholds[kind]))
		return -ENXIO;
	table->table = kind ? trigger_cpu_kind(pp->trigger, 0, (enum trigger_kind)kind)
			    : trigger_cpu(pp->trigger, 0);
	if (cpu == -1) {
		table->cpus = config->cpus;
		table->nr = config->nr_cpus;
		return 0;
	}
	for (size_t i = 0; i < config->nr_cpus; i++) {
		if (config->cpus[i] != cpu)
			continue;
		table->cpus = &config->cpus[i];
		table->nr = 1;
		return 0;
	}
	return -ENXIO;
}

void stats_take(const struct perf_poke *pp, const struct perf_poke_spike *spike,
		struct stats_snapshot *snapshot)
{
	struct stats_table table;

	*snapshot = (struct stats_snapshot){};
	if (stats_select(pp, spike->kind, spike->cpu, &table))
		return;
	for (unsigned int i = 0; i < TRIGGER_BUCKETS; i++)
		snapshot->buckets[i / STATS_STEP] += bucket_count(&table, i);
	snapshot->sum = stats_sum(&table);
	snapshot->p50_ns = stats_percentile(&table, 50);
	snapshot->p99_ns = stats_percentile(&table, 99);
	snapshot->p99_9_ns = stats_percentile(&table, 99.9);
}

int perf_poke__kind_stats(const struct perf_poke *pp, enum perf_poke_trigger_kind kind, int cpu,
			  struct perf_poke_stats *stats)
{
	struct perf_poke_stats sum;
	struct stats_table table;
	size_t size;
	int err;

	if (!stats || stats->sz < sizeof(stats->sz))
		return -EINVAL;
	err = stats_select(pp, kind, cpu, &table);
	if (err)
		return err;
	sum = stats_sum(&table);
	if (!kind)
		sum.missed = trigger_missed(pp->trigger);
	size = stats->sz < sizeof(sum) ? stats->sz : sizeof(sum);
	sum.sz = stats->sz;
	memset(stats, 0, sum.sz);
	memcpy(stats, &sum, size);
	return 0;
}

int perf_poke__kind_histogram(const struct perf_poke *pp, enum perf_poke_trigger_kind kind, int cpu,
			      void (*fn)(void *ctx, const struct perf_poke_bucket *bucket),
			      void *ctx)
{
	struct stats_table table;
	int err, nr = 0;

	err = stats_select(pp, kind, cpu, &table);
	if (err)
		return err;
	for (unsigned int i = 0; i < TRIGGER_BUCKETS; i++) {
		struct perf_poke_bucket bucket = { .count = bucket_count(&table, i) };

		if (!bucket.count)
			continue;
		bucket.low_ns = bucket_low_ns(i);
		bucket.high_ns = i + 1 < TRIGGER_BUCKETS ? bucket_low_ns(i + 1) : UINT64_MAX;
		fn(ctx, &bucket);
		nr++;
	}
	return nr;
}

int perf_poke__kind_linear_histogram(const struct perf_poke *pp, enum perf_poke_trigger_kind kind,
				     int cpu, uint64_t *counts, size_t nr)
{
	size_t buckets = pp->config.histogram_entries + 1;
	struct stats_table table;
	int err;

	if (!counts)
		return -EINVAL;
	err = stats_select(pp, kind, cpu, &table);
	if (err)
		return err;
	if (!pp->config.histogram_entries)
		return -ENODATA;
	memset(counts, 0, nr * sizeof(*counts));
	for (size_t c = 0; c < table.nr; c++) {
		const volatile uint64_t *from =
			trigger_linear(pp->trigger, table.table[table.cpus[c]].watched);

		for (size_t i = 0; i < nr && i < buckets; i++)
			counts[i] += from[i];
	}
	return (int)buckets;
}

int perf_poke__kind_percentile(const struct perf_poke *pp, enum perf_poke_trigger_kind kind,
			       int cpu, double percent, uint64_t *latency_ns)
{
	struct stats_table table;
	int err;

	if (!(percent >= 0 && percent <= 100) || !latency_ns)
		return -EINVAL;
	err = stats_select(pp, kind, cpu, &table);
	if (!err)
		*latency_ns = stats_percentile(&table, percent);
	return err;
}

int perf_poke__stats(const struct perf_poke *pp, int cpu, struct perf_poke_stats *stats)
{
	return perf_poke__kind_stats(pp, PERF_POKE_TRIGGER_IRQ, cpu, stats);
}

int perf_poke__histogram(const struct perf_poke *pp, int cpu,
			 void (*fn)(void *ctx, const struct perf_poke_bucket *bucket), void *ctx)
{
	return perf_poke__kind_histogram(pp, PERF_POKE_TRIGGER_IRQ, cpu, fn, ctx);
}

int perf_poke__percentile(const struct perf_poke *pp, int cpu, double percent, uint64_t *latency_ns)
{
	return perf_poke__kind_percentile(pp, PERF_POKE_TRIGGER_IRQ, cpu, percent, latency_ns);
}
