// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "trigger/trigger.h"

/* Programs and other threads count meanwhile. */
#define LOAD(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)

uint64_t stats_count(const struct stats_table *table, unsigned int bucket)
{
	uint64_t count = 0;

	for (size_t i = 0; i < table->nr; i++)
		count += LOAD(table->table[table->cpus[i]].buckets[bucket]);
	return count;
}

void stats_add_unpaired(struct perf_poke_stats *stats, const volatile struct trigger_cpu *cpus,
			size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		stats->not_entered += LOAD(cpus[i].unpaired[SPAN_NOT_ENTERED]);
		stats->reentered += LOAD(cpus[i].unpaired[SPAN_REENTERED]);
		stats->thread_died += LOAD(cpus[i].unpaired[SPAN_THREAD_DIED]);
		stats->no_room += LOAD(cpus[i].unpaired[SPAN_NO_ROOM]);
	}
}

struct perf_poke_stats stats_sum(const struct stats_table *table)
{
	struct perf_poke_stats sum = { .sz = sizeof(sum), .min_ns = UINT64_MAX };

	for (size_t i = 0; i < table->nr; i++) {
		const volatile struct trigger_cpu *one = &table->table[table->cpus[i]];
		uint64_t min_ns = ~LOAD(one->min_inverse), max_ns = LOAD(one->max_ns);
		uint64_t last_ns = LOAD(one->last_ns);

		sum.count += LOAD(one->count);
		sum.sum_ns += LOAD(one->sum_ns);
		sum.spikes += LOAD(one->spikes);
		sum.unarmed += LOAD(one->unarmed);
		if (last_ns > sum.last_ns)
			sum.last_ns = last_ns;
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

	/* Reads each bucket once; the total is the sum of these reads. */
	for (unsigned int i = 0; i < TRIGGER_BUCKETS; i++)
		total += counts[i] = stats_count(table, i);
	wanted = total * percent / 100;
	for (unsigned int i = 0; i < TRIGGER_BUCKETS && total; i++) {
		uint64_t high_ns = i + 1 < TRIGGER_BUCKETS ? bucket_low_ns(i + 1) - 1 : UINT64_MAX;

		seen += counts[i];
		/* The upper end of the bucket, but at most the maximum. */
		if (seen && seen >= wanted)
			return high_ns < max_ns ? high_ns : max_ns;
	}
	return 0;
}

void stats_take(const struct stats_table *table, struct stats_snapshot *snapshot)
{
	for (unsigned int i = 0; i < TRIGGER_BUCKETS; i++)
		snapshot->buckets[i / STATS_STEP] += stats_count(table, i);
	snapshot->sum = stats_sum(table);
	snapshot->p50_ns = stats_percentile(table, 50);
	snapshot->p99_ns = stats_percentile(table, 99);
	snapshot->p99_9_ns = stats_percentile(table, 99.9);
}
