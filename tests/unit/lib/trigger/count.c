// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Counted without a system call, or left to the BPF program. */
#include "trigger/count.h"

#include <errno.h>
#include <pthread.h>

#include "test.h"
#include "trigger/state.h"

#define CPUS 2
#define CPU 1
#define THRESHOLD_NS 1000
#define LINEAR_ENTRIES 4
#define THREADS 4
#define TURNS 20000

struct fixture {
	struct trigger trigger;
	struct trigger_bpf skel;
	struct trigger_bpf__rodata rodata;
	struct trigger_bpf__bss bss;
	struct trigger_cpu more[(TRIGGER_KINDS - 1) * CPUS];
	uint64_t linear[LINEAR_ENTRIES + 1];
};

/* The second CPU is watched, the trigger armed. */
static struct trigger_cpu *begin(struct fixture *f)
{
	struct trigger_cpu *cpu;

	*f = (struct fixture){ .bss.armed = 1 };
	f->rodata.linear_width_ns = 100;
	f->skel.rodata = &f->rodata;
	f->skel.bss = &f->bss;
	f->trigger = (struct trigger){
		.skel = &f->skel,
		.more = f->more,
		.more_size = sizeof(f->more),
		.linear = f->linear,
		.linear_row = LINEAR_ENTRIES + 1,
		.nr_possible = CPUS,
	};
	cpu = trigger_find_cpu(&f->trigger, CPU, PERF_POKE_TRIGGER_REPORT);
	cpu->watched = TRIGGER_LINEAR;
	cpu->threshold_ns = f->bss.spike_ns[PERF_POKE_TRIGGER_REPORT] = THRESHOLD_NS;
	return cpu;
}

static int count(struct fixture *f, uint64_t latency_ns)
{
	return trigger_count(&f->trigger, PERF_POKE_TRIGGER_REPORT, CPU, latency_ns);
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
	assert_int_equal(f.linear[0], 1);
	assert_int_equal(f.linear[2], 1);
	assert_int_equal(f.linear[LINEAR_ENTRIES], 1);
}

TEST(leaves_what_may_be_taken)
{
	static struct fixture f;
	const struct trigger_cpu *cpu = begin(&f);

	assert_int_equal(count(&f, THRESHOLD_NS), 1);
	assert_int_equal(cpu->count, 0);
	assert_int_equal(cpu->spikes, 0);
}

TEST(leaves_a_control)
{
	static struct fixture f;
	struct trigger_cpu *cpu = begin(&f);

	cpu->threshold_ns = 0;
	assert_int_equal(count(&f, 250), 1);
	/* A spike that is not kept is no control. */
	f.bss.floor_ns[PERF_POKE_TRIGGER_REPORT] = 2 * THRESHOLD_NS;
	assert_int_equal(count(&f, THRESHOLD_NS), 0);
	assert_int_equal(cpu->spikes, 1);
	f.bss.disarmed = 1;
	assert_int_equal(count(&f, 250), 0);
	assert_int_equal(cpu->count, 2);
	assert_int_equal(cpu->spikes, 1);
}

TEST(counts_what_cannot_be_taken)
{
	static struct fixture f;
	struct trigger_cpu *cpu = begin(&f);

	f.bss.disarmed = 1;
	assert_int_equal(count(&f, THRESHOLD_NS), 0);
	f.bss.disarmed = f.bss.armed = 0;
	assert_int_equal(count(&f, THRESHOLD_NS), 0);
	assert_int_equal(cpu->spikes, 2);
	assert_int_equal(cpu->unarmed, 2);
	f.bss.armed = 1;
	f.bss.floor_ns[PERF_POKE_TRIGGER_REPORT] = 2 * THRESHOLD_NS;
	assert_int_equal(count(&f, THRESHOLD_NS), 0);
	assert_int_equal(cpu->spikes, 3);
	assert_int_equal(cpu->unarmed, 2);
	cpu->threshold_ns = f.bss.spike_ns[PERF_POKE_TRIGGER_REPORT] = 3 * THRESHOLD_NS;
	assert_int_equal(count(&f, 2 * THRESHOLD_NS), 0);
	assert_int_equal(cpu->spikes, 3);
	assert_int_equal(count(&f, 3 * THRESHOLD_NS), 1);
	assert_int_equal(cpu->count, 4);
}

TEST(counts_in_rows_alone)
{
	static struct fixture f;
	struct trigger_cpu *cpu = begin(&f);

	/* The linear histogram is not mapped. */
	assert_false(trigger_count_below(cpu, 250));
	cpu->watched = TRIGGER_WATCHED;
	assert_true(trigger_count_below(cpu, THRESHOLD_NS - 1));
	assert_false(trigger_count_below(cpu, THRESHOLD_NS));
	assert_int_equal(cpu->count, 1);
	assert_int_equal(cpu->last_ns, THRESHOLD_NS - 1);
	cpu->watched = TRIGGER_UNWATCHED;
	assert_false(trigger_count_below(cpu, 250));
}

TEST(refuses_other_cpus)
{
	static struct fixture f;

	begin(&f);
	assert_int_equal(trigger_count(&f.trigger, PERF_POKE_TRIGGER_REPORT, 0, 1), -ENXIO);
	assert_int_equal(trigger_count(&f.trigger, PERF_POKE_TRIGGER_REPORT, CPUS, 1), -ENXIO);
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
