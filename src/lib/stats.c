// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Statistics and percentiles, read from the memory that the trigger writes. */
#include <string.h>

#include "session.h"

struct selection {
	const int *cpus;
	size_t nr;
};

static int stats_select(const struct perf_poke *pp, int cpu, struct selection *selection)
{
	const struct config *config = &pp->config;

	if (!pp->trigger)
		return -ENOTCONN;
	if (cpu == -1) {
		*selection = (struct selection){ config->cpus, config->nr_cpus };
		return 0;
	}
	for (size_t i = 0; i < config->nr_cpus; i++) {
		if (config->cpus[i] != cpu)
			continue;
		*selection = (struct selection){ &config->cpus[i], 1 };
		return 0;
	}
	return -ENXIO;
}

int perf_poke__stats(const struct perf_poke *pp, int cpu, struct perf_poke_stats *stats)
{
	struct perf_poke_stats sum = { .min_ns = UINT64_MAX };
	struct selection selection;
	size_t size;
	int err;

	if (!stats || stats->sz < sizeof(stats->sz))
		return -EINVAL;
	err = stats_select(pp, cpu, &selection);
	if (err)
		return err;
	for (size_t i = 0; i < selection.nr; i++) {
		const volatile struct trigger_cpu *one =
			trigger_cpu(pp->trigger, selection.cpus[i]);
		uint64_t min_ns = ~one->min_inverse, max_ns = one->max_ns;

		sum.count += one->count;
		sum.sum_ns += one->sum_ns;
		sum.spikes += one->spikes;
		sum.unarmed += one->unarmed;
		if (min_ns < sum.min_ns)
			sum.min_ns = min_ns;
		if (max_ns > sum.max_ns)
			sum.max_ns = max_ns;
	}
	if (sum.min_ns == UINT64_MAX)
		sum.min_ns = 0;
	sum.missed = trigger_missed(pp->trigger);
	size = stats->sz < sizeof(sum) ? stats->sz : sizeof(sum);
	sum.sz = stats->sz;
	memset(stats, 0, sum.sz);
	memcpy(stats, &sum, size);
	return 0;
}

static uint64_t bucket_count(const struct perf_poke *pp, const struct selection *selection,
			     unsigned int bucket)
{
	uint64_t count = 0;

	for (size_t i = 0; i < selection->nr; i++)
		count += trigger_cpu(pp->trigger, selection->cpus[i])->buckets[bucket];
	return count;
}

int perf_poke__histogram(const struct perf_poke *pp, int cpu,
			 void (*fn)(void *ctx, const struct perf_poke_bucket *bucket), void *ctx)
{
	struct selection selection;
	int err, nr = 0;

	err = stats_select(pp, cpu, &selection);
	if (err)
		return err;
	for (unsigned int i = 0; i < TRIGGER_BUCKETS; i++) {
		struct perf_poke_bucket bucket = { .count = bucket_count(pp, &selection, i) };

		if (!bucket.count)
			continue;
		bucket.low_ns = bucket_low_ns(i);
		bucket.high_ns = i + 1 < TRIGGER_BUCKETS ? bucket_low_ns(i + 1) : UINT64_MAX;
		fn(ctx, &bucket);
		nr++;
	}
	return nr;
}

int perf_poke__percentile(const struct perf_poke *pp, int cpu, double percent, uint64_t *latency_ns)
{
	struct perf_poke_stats stats = { .sz = sizeof(stats) };
	uint64_t total = 0, seen = 0, counts[TRIGGER_BUCKETS];
	struct selection selection;
	double wanted;
	int err;

	if (!(percent >= 0 && percent <= 100) || !latency_ns)
		return -EINVAL;
	err = stats_select(pp, cpu, &selection);
	if (!err)
		err = perf_poke__stats(pp, cpu, &stats);
	if (err)
		return err;
	/* One look at each bucket: the total is that of what was seen. */
	for (unsigned int i = 0; i < TRIGGER_BUCKETS; i++)
		total += counts[i] = bucket_count(pp, &selection, i);
	wanted = total * percent / 100;
	*latency_ns = 0;
	for (unsigned int i = 0; i < TRIGGER_BUCKETS && total; i++) {
		seen += counts[i];
		if (!seen || seen < wanted)
			continue;
		/* The bucket's upper end, unless the maximum is known to be less. */
		*latency_ns = i + 1 < TRIGGER_BUCKETS ? bucket_low_ns(i + 1) - 1 : UINT64_MAX;
		if (*latency_ns > stats.max_ns)
			*latency_ns = stats.max_ns;
		break;
	}
	return 0;
}
