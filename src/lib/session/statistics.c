// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The trigger's counters, by kind and by CPU. */
#include "session/session.h"

#include <string.h>

#include "trigger/trigger.h"

static int statistics_select(const struct perf_poke *pp, enum perf_poke_trigger_kind kind, int cpu,
			     struct stats_table *table)
{
	const struct config *config = &pp->config;

	if (!pp->trigger)
		return -ENOTCONN;
	/* Interrupt latency is always counted. */
	if (kind && ((unsigned int)kind >= TRIGGER_KINDS || !config->thresholds[kind]))
		return -ENXIO;
	table->table = trigger_find_cpu(pp->trigger, 0, kind);
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

void statistics_snapshot(const struct perf_poke *pp, const struct perf_poke_spike *spike,
			 struct stats_snapshot *snapshot)
{
	struct stats_table table;

	*snapshot = (struct stats_snapshot){};
	if (!statistics_select(pp, spike->kind, spike->cpu, &table))
		stats_take_snapshot(&table, snapshot);
}

int perf_poke__stats(const struct perf_poke *pp, enum perf_poke_trigger_kind kind, int cpu,
		     struct perf_poke_stats *stats)
{
	struct perf_poke_stats sum;
	struct stats_table table;
	size_t size;
	int err;

	if (!stats || stats->sz < sizeof(stats->sz))
		return -EINVAL;
	err = statistics_select(pp, kind, cpu, &table);
	if (err)
		return err;
	sum = stats_sum_rows(&table);
	if (!kind)
		sum.missed = trigger_missed(pp->trigger);
	if (kind == PERF_POKE_TRIGGER_SPAN)
		trigger_add_unpaired(pp->trigger, &sum);
	size = stats->sz < sizeof(sum) ? stats->sz : sizeof(sum);
	sum.sz = stats->sz;
	memset(stats, 0, sum.sz);
	memcpy(stats, &sum, size);
	return 0;
}

int perf_poke__histogram(const struct perf_poke *pp, enum perf_poke_trigger_kind kind, int cpu,
			 void (*fn)(void *ctx, const struct perf_poke_bucket *bucket), void *ctx)
{
	struct stats_table table;
	int err, nr = 0;

	err = statistics_select(pp, kind, cpu, &table);
	if (err)
		return err;
	for (unsigned int i = 0; i < TRIGGER_BUCKETS; i++) {
		struct perf_poke_bucket bucket = { .count = stats_count_bucket(&table, i) };

		if (!bucket.count)
			continue;
		bucket.low_ns = bucket_low_ns(i);
		bucket.high_ns = i + 1 < TRIGGER_BUCKETS ? bucket_low_ns(i + 1) : UINT64_MAX;
		fn(ctx, &bucket);
		nr++;
	}
	return nr;
}

int perf_poke__sources(const struct perf_poke *pp, bool functions, perf_poke_source_fn fn,
		       void *ctx)
{
	_cleanup_free_ struct perf_poke_source *sources = NULL;
	size_t nr;
	int err;

	if (!pp->trigger)
		return -ENOTCONN;
	if (!pp->config.thresholds[PERF_POKE_TRIGGER_INTERRUPTION])
		return -ENXIO;
	err = trigger_read_sources(pp->trigger, functions, &sources, &nr);
	for (size_t i = 0; i < nr && !err; i++)
		fn(ctx, &sources[i]);
	return err ? err : (int)nr;
}

int perf_poke__percentile(const struct perf_poke *pp, enum perf_poke_trigger_kind kind, int cpu,
			  double percent, uint64_t *latency_ns)
{
	struct stats_table table;
	int err;

	if (!(percent >= 0 && percent <= 100) || !latency_ns)
		return -EINVAL;
	err = statistics_select(pp, kind, cpu, &table);
	if (!err)
		*latency_ns = stats_percentile(&table, percent);
	return err;
}
