// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* On fake tables: trigger_find_cpu() and trigger_missed() are replaced at link time. */
#include "session/session.h"
#include "test.h"

#include <string.h>

#define CPUS 8
#define MISSED 42

static struct trigger_cpu tables[CPUS];
static int watched[] = { 1, 4, 5 };

struct trigger_cpu *__wrap_trigger_find_cpu(const struct trigger *trigger, int cpu,
					    enum perf_poke_trigger_kind kind)
{
	assert_int_equal(kind, PERF_POKE_TRIGGER_IRQ);
	assert_ptr_equal(trigger, tables);
	assert_in_range(cpu, 0, CPUS - 1);
	return &tables[cpu];
}

uint64_t __wrap_trigger_missed(const struct trigger *trigger)
{
	assert_ptr_equal(trigger, tables);
	return MISSED;
}

static const struct perf_poke session = {
	.config = { .cpus = watched, .nr_cpus = ARRAY_SIZE(watched) },
	.trigger = (struct trigger *)tables,
};

static int empty_tables(void **state)
{
	memset(tables, 0, sizeof(tables));
	return 0;
}

/* The BPF program's part of an expiry. */
static void expire(int cpu, uint64_t latency_ns)
{
	struct trigger_cpu *table = &tables[cpu];

	table->count++;
	table->sum_ns += latency_ns;
	if (~latency_ns > table->min_inverse)
		table->min_inverse = ~latency_ns;
	if (latency_ns > table->max_ns)
		table->max_ns = latency_ns;
	table->buckets[trigger_bucket(latency_ns)]++;
}

TEST_WITH(adds_cpus_up, empty_tables, NULL)
{
	struct perf_poke_stats stats = { .sz = sizeof(stats) };

	expire(1, 700);
	expire(1, 300);
	expire(4, 90000);
	tables[4].spikes = 3;
	tables[1].spikes = 1;
	tables[4].unarmed = 2;
	/* An unwatched CPU. */
	expire(2, 1);
	tables[2].spikes = 100;

	assert_int_equal(perf_poke__stats(&session, 0, -1, &stats), 0);
	assert_int_equal(stats.sz, sizeof(stats));
	assert_int_equal(stats.count, 3);
	assert_int_equal(stats.min_ns, 300);
	assert_int_equal(stats.max_ns, 90000);
	assert_int_equal(stats.sum_ns, 91000);
	assert_int_equal(stats.spikes, 4);
	assert_int_equal(stats.unarmed, 2);
	assert_int_equal(stats.missed, MISSED);

	assert_int_equal(perf_poke__stats(&session, 0, 1, &stats), 0);
	assert_int_equal(stats.count, 2);
	assert_int_equal(stats.max_ns, 700);
	assert_int_equal(stats.spikes, 1);
	assert_int_equal(stats.missed, MISSED);
}

TEST_WITH(nothing_yet, empty_tables, NULL)
{
	struct perf_poke_stats stats = { .sz = sizeof(stats), .min_ns = 7, .max_ns = 7 };
	uint64_t latency_ns = 7;

	assert_int_equal(perf_poke__stats(&session, 0, 5, &stats), 0);
	assert_int_equal(stats.count, 0);
	assert_int_equal(stats.min_ns, 0);
	assert_int_equal(stats.max_ns, 0);
	assert_int_equal(perf_poke__percentile(&session, 0, -1, 50, &latency_ns), 0);
	assert_int_equal(latency_ns, 0);
	/* A minimum of 0 is valid. */
	expire(5, 0);
	expire(5, 10);
	assert_int_equal(perf_poke__stats(&session, 0, 5, &stats), 0);
	assert_int_equal(stats.min_ns, 0);
	assert_int_equal(stats.max_ns, 10);
}

TEST_WITH(older_and_newer_callers, empty_tables, NULL)
{
	struct {
		struct perf_poke_stats stats;
		uint64_t tail[2];
	} larger = { .stats.sz = sizeof(larger) };
	struct perf_poke_stats stats;

	expire(1, 500);
	memset(&stats, 0xaa, sizeof(stats));
	stats.sz = offsetof(struct perf_poke_stats, max_ns);
	assert_int_equal(perf_poke__stats(&session, 0, 1, &stats), 0);
	assert_int_equal(stats.sz, offsetof(struct perf_poke_stats, max_ns));
	assert_int_equal(stats.min_ns, 500);
	assert_int_equal(stats.max_ns, 0xaaaaaaaaaaaaaaaa);
	assert_int_equal(stats.missed, 0xaaaaaaaaaaaaaaaa);

	assert_int_equal(perf_poke__stats(&session, 0, 1, &larger.stats), 0);
	assert_int_equal(larger.stats.sz, sizeof(larger));
	assert_int_equal(larger.stats.missed, MISSED);
	assert_int_equal(larger.tail[0] | larger.tail[1], 0);

	stats.sz = sizeof(stats.sz) - 1;
	assert_int_equal(perf_poke__stats(&session, 0, 1, &stats), -EINVAL);
	stats.sz = 0;
	assert_int_equal(perf_poke__stats(&session, 0, 1, &stats), -EINVAL);
	assert_int_equal(perf_poke__stats(&session, 0, 1, NULL), -EINVAL);
}

static void count_bucket(void *ctx, const struct perf_poke_bucket *bucket)
{
	*(uint64_t *)ctx += bucket->count;
}

TEST_WITH(refuses, empty_tables, NULL)
{
	struct perf_poke_stats stats = { .sz = sizeof(stats) };
	struct perf_poke unstarted = session;
	uint64_t latency_ns;

	unstarted.trigger = NULL;
	assert_int_equal(perf_poke__stats(&unstarted, 0, -1, &stats), -ENOTCONN);
	assert_int_equal(perf_poke__percentile(&unstarted, 0, -1, 50, &latency_ns), -ENOTCONN);
	assert_int_equal(perf_poke__histogram(&unstarted, 0, -1, count_bucket, NULL), -ENOTCONN);
	for (int cpu = -2; cpu < CPUS; cpu++) {
		int expected = cpu == -1 || cpu == 1 || cpu == 4 || cpu == 5 ? 0 : -ENXIO;

		assert_int_equal(perf_poke__stats(&session, 0, cpu, &stats), expected);
		assert_int_equal(perf_poke__percentile(&session, 0, cpu, 50, &latency_ns),
				 expected);
		assert_int_equal(perf_poke__histogram(&session, 0, cpu, count_bucket, NULL),
				 expected);
	}
	assert_int_equal(perf_poke__percentile(&session, 0, 1, -0.1, &latency_ns), -EINVAL);
	assert_int_equal(perf_poke__percentile(&session, 0, 1, 100.1, &latency_ns), -EINVAL);
	assert_int_equal(perf_poke__percentile(&session, 0, 1, __builtin_nan(""), &latency_ns),
			 -EINVAL);
	assert_int_equal(perf_poke__percentile(&session, 0, 1, 50, NULL), -EINVAL);
}

struct rising {
	struct perf_poke_bucket last;
	uint64_t count;
	int nr;
};

static void check_rising(void *ctx, const struct perf_poke_bucket *bucket)
{
	struct rising *rising = ctx;

	assert_true(bucket->count > 0);
	assert_true(bucket->high_ns > bucket->low_ns);
	assert_true(bucket->low_ns >= rising->last.high_ns);
	rising->last = *bucket;
	rising->count += bucket->count;
	rising->nr++;
}

TEST_WITH(lists_buckets, empty_tables, NULL)
{
	struct rising rising = {};

	expire(1, 1000);
	expire(4, 1001);
	expire(4, 50000);
	expire(5, 5000000000);
	expire(3, 20);
	assert_int_equal(perf_poke__histogram(&session, 0, -1, check_rising, &rising), 3);
	assert_int_equal(rising.nr, 3);
	assert_int_equal(rising.count, 4);
	assert_int_equal(rising.last.low_ns, 1ULL << 30);
	assert_int_equal(rising.last.high_ns, UINT64_MAX);
	memset(&rising, 0, sizeof(rising));
	assert_int_equal(perf_poke__histogram(&session, 0, 1, check_rising, &rising), 1);
	assert_int_equal(rising.last.low_ns, 1000);
	assert_int_equal(rising.last.high_ns, 1008);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* By sorting: the smallest value that at least `eighths`/8 percent do not exceed. */
static uint64_t reference(const uint64_t *sorted, size_t nr, unsigned int eighths)
{
	size_t rank = (nr * eighths + 799) / 800;

	return sorted[rank ? rank - 1 : 0];
}

static void check_percentiles(uint64_t *values, size_t nr)
{
	qsort(values, nr, sizeof(*values), compare);
	for (unsigned int eighths = 0; eighths <= 800; eighths++) {
		uint64_t expected = reference(values, nr, eighths), latency_ns;

		assert_int_equal(perf_poke__percentile(&session, 0, -1, eighths / 8.0, &latency_ns),
				 0);
		assert_true(latency_ns >= expected);
		assert_true(latency_ns <= values[nr - 1]);
		/* 1.6 %, or the two nanoseconds of the lowest buckets. */
		if (expected < 1ULL << TRIGGER_TOP_BITS)
			assert_true(latency_ns - expected <= 1 + expected / 64);
	}
}

TEST_WITH(percentiles_match_sorting, empty_tables, NULL)
{
	static const size_t sizes[] = { 1, 2, 3, 8, 99, 100, 800, 4001 };
	uint64_t values[4001];

	srand48(2);
	for (size_t s = 0; s < ARRAY_SIZE(sizes); s++) {
		memset(tables, 0, sizeof(tables));
		for (size_t i = 0; i < sizes[s]; i++) {
			values[i] = (uint64_t)lrand48() >> (lrand48() % 31);
			expire(watched[i % ARRAY_SIZE(watched)], values[i]);
		}
		check_percentiles(values, sizes[s]);
	}
}

/* One in a thousand, at both ends of a realistic distribution. */
TEST_WITH(percentiles_of_a_tail, empty_tables, NULL)
{
	uint64_t latency_ns;

	for (int i = 0; i < 9990; i++)
		expire(1, 1500);
	for (int i = 0; i < 10; i++)
		expire(4, 80000);
	assert_int_equal(perf_poke__percentile(&session, 0, -1, 0, &latency_ns), 0);
	assert_in_range(latency_ns, 1500, 1523);
	assert_int_equal(perf_poke__percentile(&session, 0, -1, 99.8, &latency_ns), 0);
	assert_in_range(latency_ns, 1500, 1523);
	assert_int_equal(perf_poke__percentile(&session, 0, -1, 99.95, &latency_ns), 0);
	assert_int_equal(latency_ns, 80000);
	assert_int_equal(perf_poke__percentile(&session, 0, 4, 1, &latency_ns), 0);
	assert_int_equal(latency_ns, 80000);
}

TEST_WITH(takes_snapshots, empty_tables, NULL)
{
	struct perf_poke_spike spike = { .cpu = 4 };
	struct stats_snapshot snapshot;
	uint64_t sum = 0;

	for (int i = 0; i < 1000; i++)
		expire(1, 1500);
	expire(4, 80000);
	expire(4, 2000000000);
	expire(2, 1);
	statistics_snapshot(&session, &spike, &snapshot);
	assert_int_equal(snapshot.sum.count, 2);
	assert_int_equal(snapshot.p50_ns, 80895);
	assert_int_equal(snapshot.p99_9_ns, 2000000000);
	assert_int_equal(snapshot.buckets[STATS_BUCKETS - 1], 1);
	/* From 73,728 to 81,920 ns */
	assert_int_equal(snapshot.buckets[trigger_bucket(80000) / STATS_STEP], 1);
	assert_int_equal(bucket_low_ns(trigger_bucket(80000) / STATS_STEP * STATS_STEP), 73728);
	assert_int_equal(bucket_low_ns((trigger_bucket(80000) / STATS_STEP + 1) * STATS_STEP),
			 81920);
	/* For all CPUs. */
	spike.cpu = -1;
	statistics_snapshot(&session, &spike, &snapshot);
	for (size_t i = 0; i < STATS_BUCKETS; i++)
		sum += snapshot.buckets[i];
	assert_int_equal(sum, 1002);
	assert_int_equal(snapshot.sum.count, 1002);
	assert_int_equal(snapshot.sum.min_ns, 1500);
	/* For an unwatched CPU. */
	spike.cpu = 2;
	statistics_snapshot(&session, &spike, &snapshot);
	assert_int_equal(snapshot.sum.count, 0);
}
