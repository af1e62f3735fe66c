// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Counted without a system call, or left to the BPF program. */
#include "trigger/trigger.h"

#include <errno.h>
#include <pthread.h>

#include "bpf/trigger.skel.h"
#include "test.h"

#define CPUS 2
#define CPU 1
#define THRESHOLD_NS 1000
#define THREADS 4
#define TURNS 20000

struct fixture {
	struct trigger_counters counters;
	struct trigger_bpf__data_arming arming;
	struct trigger_cpu rows[CPUS];
};

static uint64_t now_ns;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	assert_int_equal(clock, CLOCK_MONOTONIC);
	*now = (struct timespec){ .tv_nsec = (long)now_ns };
	return 0;
}

/* The second CPU is watched, the trigger armed. */
static struct trigger_cpu *begin(struct fixture *f)
{
	struct trigger_cpu *cpu = &f->rows[CPU];

	*f = (struct fixture){ .arming.armed = 1 };
	f->counters = (struct trigger_counters){
		.rows = f->rows,
		.nr_rows = CPUS,
		.arming = &f->arming,
	};
	cpu->watched = TRIGGER_WATCHED;
	cpu->threshold_ns = THRESHOLD_NS;
	return cpu;
}

static int count(struct fixture *f, uint64_t latency_ns)
{
	return trigger_count(&f->counters, CPU, latency_ns);
}

TEST(counts_below_the_threshold)
{
	static struct fixture f;
	const struct trigger_cpu *cpu = begin(&f);

	assert_int_equal(count(&f, 250), 0);
	assert_int_equal(count(&f, THRESHOLD_NS - 1), 0);
	assert_int_equal(count(&f, 30), 0);
	assert_int_equal(cpu->count, 3);
	assert_int_equal(cpu->sum_ns, 250 + 999 + 30);
	assert_int_equal(~cpu->min_inverse, 30);
	assert_int_equal(cpu->max_ns, 999);
	assert_int_equal(cpu->last_ns, 30);
	assert_int_equal(cpu->buckets[trigger_bucket(250)], 1);
	assert_int_equal(cpu->spikes, 0);
}

TEST(leaves_what_may_be_taken)
{
	static struct fixture f;
	const struct trigger_cpu *cpu = begin(&f);

	assert_int_equal(count(&f, THRESHOLD_NS), 1);
	assert_int_equal(cpu->count, 0);
	assert_int_equal(cpu->spikes, 0);
}

TEST(counts_what_cannot_be_taken)
{
	static struct fixture f;
	struct trigger_cpu *cpu = begin(&f);

	f.arming.disarmed = 1;
	assert_int_equal(count(&f, THRESHOLD_NS), 0);
	f.arming.disarmed = f.arming.armed = 0;
	assert_int_equal(count(&f, THRESHOLD_NS), 0);
	assert_int_equal(cpu->spikes, 2);
	assert_int_equal(cpu->unarmed, 2);
	f.arming.armed = 1;
	f.arming.floor_ns[PERF_POKE_TRIGGER_REPORT] = 2 * THRESHOLD_NS;
	assert_int_equal(count(&f, THRESHOLD_NS), 0);
	assert_int_equal(cpu->spikes, 3);
	assert_int_equal(cpu->unarmed, 2);
	cpu->threshold_ns = 3 * THRESHOLD_NS;
	assert_int_equal(count(&f, 2 * THRESHOLD_NS), 0);
	assert_int_equal(cpu->spikes, 3);
	assert_int_equal(count(&f, 3 * THRESHOLD_NS), 1);
	assert_int_equal(cpu->count, 4);
}

TEST(counts_while_quiet)
{
	static struct fixture f;
	struct trigger_cpu *cpu = begin(&f);

	now_ns = 5000;
	f.arming.quiet_until_ns = 5001;
	assert_int_equal(count(&f, THRESHOLD_NS), 0);
	assert_int_equal(cpu->spikes, 1);
	assert_int_equal(cpu->unarmed, 1);
	now_ns++;
	assert_int_equal(count(&f, THRESHOLD_NS), 1);
	f.arming.quiet_until_ns = UINT64_MAX;
	assert_int_equal(count(&f, THRESHOLD_NS), 0);
	assert_int_equal(cpu->unarmed, 2);
}

TEST(refuses_other_cpus)
{
	static struct fixture f;

	begin(&f);
	assert_int_equal(trigger_count(&f.counters, 0, 1), -ENXIO);
	assert_int_equal(trigger_count(&f.counters, CPUS, 1), -ENXIO);
}

/* Returns how many are left to the program. */
static void *count_late(void *arg)
{
	uintptr_t left = 0;

	for (uint64_t i = 0; i < TURNS; i++)
		left += count(arg, THRESHOLD_NS + i % THRESHOLD_NS) == 1;
	return (void *)left;
}

TEST(counts_each_spike_or_leaves_it)
{
	static struct fixture f;
	const struct trigger_cpu *cpu = begin(&f);
	uint64_t left = 0, in_buckets = 0;
	pthread_t threads[THREADS];
	void *result;

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, count_late, &f), 0);
	for (int i = 0; i < TURNS; i++)
		__atomic_store_n(&f.arming.armed, i % 2, __ATOMIC_RELEASE);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &result);
		left += (uintptr_t)result;
	}
	for (unsigned int i = 0; i < TRIGGER_BUCKETS; i++)
		in_buckets += cpu->buckets[i];
	assert_int_equal(cpu->count + left, THREADS * TURNS);
	assert_int_equal(cpu->spikes, cpu->count);
	assert_int_equal(cpu->unarmed, cpu->count);
	assert_int_equal(in_buckets, cpu->count);
}

static void *count_many(void *arg)
{
	for (uint64_t i = 0; i < TURNS; i++)
		count(arg, i % THRESHOLD_NS);
	return NULL;
}

TEST(loses_nothing_of_many_threads)
{
	static struct fixture f;
	const struct trigger_cpu *cpu = begin(&f);
	pthread_t threads[THREADS];
	uint64_t in_buckets = 0;

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, count_many, &f), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned int i = 0; i < TRIGGER_BUCKETS; i++)
		in_buckets += cpu->buckets[i];
	assert_int_equal(cpu->count, THREADS * TURNS);
	assert_int_equal(in_buckets, THREADS * TURNS);
	assert_int_equal(cpu->max_ns, THRESHOLD_NS - 1);
	assert_int_equal(~cpu->min_inverse, 0);
}
