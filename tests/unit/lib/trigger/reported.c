// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Reported latencies: counted without a system call, or left to the BPF program by one. */
#include "trigger/trigger_internal.h"

#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>

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
	return reported_count_latency(&f->counters, CPU, latency_ns);
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
	assert_int_equal(reported_count_latency(&f.counters, 0, 1), -ENXIO);
	assert_int_equal(reported_count_latency(&f.counters, CPUS, 1), -ENXIO);
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

/* -- Valid reports, and the arguments of the system call */

static union bpf_attr seen;
static struct trigger_report args;
static int calls;

/* The system call, whose result is that of the BPF program. */
long __wrap_syscall(long number, ...)
{
	va_list list;

	assert_int_equal(number, SYS_bpf);
	va_start(list, number);
	assert_int_equal(va_arg(list, int), BPF_PROG_TEST_RUN);
	memcpy(&seen, va_arg(list, union bpf_attr *), sizeof(seen));
	va_end(list);
	assert_int_equal(seen.test.ctx_size_in, sizeof(args));
	memcpy(&args, (void *)(uintptr_t)seen.test.ctx_in, sizeof(args));
	calls++;
	errno = EPERM;
	return seen.test.prog_fd == 99 ? -1 : 0;
}

/* To a session that is armed and takes any latency. */
static int pass(int prog_fd, const struct perf_poke_report *report)
{
	static struct trigger_cpu rows[CPU_SETSIZE];
	const struct trigger_bpf__data_arming arming = { .armed = 1 };
	const struct reporter reporter = { prog_fd, { rows, CPU_SETSIZE, .arming = &arming } };

	for (int i = 0; i < CPU_SETSIZE; i++)
		rows[i].watched = TRIGGER_WATCHED;
	return reported_take_latency(&reporter, report);
}

TEST(refuses_what_is_malformed)
{
	struct {
		struct perf_poke_report report;
		uint64_t later;
	} longer = { { .sz = sizeof(longer), .expected_ns = 1, .cpu = -1 }, 1 };
	const struct perf_poke_report bad[] = {
		{ .expected_ns = 1 },
		{ .sz = offsetof(struct perf_poke_report, label) - 1, .expected_ns = 1 },
		{ .sz = sizeof(bad[0]) },
		{ .sz = sizeof(bad[0]), .expected_ns = 1, .cpu = -2 },
		{ .sz = sizeof(bad[0]), .expected_ns = 1, .tid = -2 },
	};

	calls = 0;
	assert_int_equal(pass(3, NULL), -EINVAL);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(pass(3, &bad[i]), -EINVAL);
	assert_int_equal(pass(3, &longer.report), -EINVAL);
	assert_int_equal(calls, 0);
	longer.later = 0;
	assert_int_equal(pass(3, &longer.report), 0);
	assert_int_equal(calls, 1);
}

TEST(passes_all_on)
{
	struct perf_poke_report report = {
		.sz = sizeof(report),
		.expected_ns = 5,
		.actual_ns = 9,
		.tid = 77,
		.cpu = 3,
		.label = "012345678901234567890123456789012345678901234567890123456789012more",
	};

	errno = ENOTTY;
	assert_int_equal(pass(4, &report), 0);
	assert_int_equal(errno, ENOTTY);
	assert_int_equal(seen.test.prog_fd, 4);
	assert_int_equal(seen.test.flags, BPF_F_TEST_RUN_ON_CPU);
	assert_int_equal(seen.test.cpu, 3);
	assert_int_equal(args.expected_ns, 5);
	assert_int_equal(args.actual_ns, 9);
	assert_int_equal(args.tid, 77);
	assert_string_equal(args.label,
			    "012345678901234567890123456789012345678901234567890123456789012");
	/* On another CPU the program would find a bystander. */
	report.tid = 0;
	report.cpu = CPU_SETSIZE - 1;
	assert_int_equal(pass(4, &report), 0);
	assert_int_equal(args.tid, UINT64_MAX);
	report.cpu = -1;
	assert_int_equal(pass(4, &report), 0);
	assert_int_equal(args.tid, 0);
	report.sz = offsetof(struct perf_poke_report, label);
	assert_int_equal(pass(4, &report), 0);
	assert_int_equal(seen.test.flags, 0);
	assert_string_equal(args.label, "");
	assert_int_equal(pass(99, &report), -EPERM);
	assert_int_equal(errno, ENOTTY);
}

TEST(makes_no_system_call_without_a_capture)
{
	static struct trigger_cpu rows[2];
	struct trigger_bpf__data_arming arming = { .armed = 1 };
	const struct reporter reporter = { 4, { rows, 2, .arming = &arming } };
	struct perf_poke_report report = {
		.sz = sizeof(report), .expected_ns = 5, .actual_ns = 9, .cpu = 1
	};

	rows[1].watched = TRIGGER_WATCHED;
	rows[1].threshold_ns = 5;
	calls = 0;
	assert_int_equal(reported_take_latency(&reporter, &report), 0);
	assert_int_equal(rows[1].last_ns, 4);
	report.cpu = 2;
	assert_int_equal(reported_take_latency(&reporter, &report), -ENXIO);
	report.cpu = 1;
	report.actual_ns++;
	arming.armed = 0;
	assert_int_equal(reported_take_latency(&reporter, &report), 0);
	assert_int_equal(rows[1].unarmed, 1);
	assert_int_equal(calls, 0);
	arming.armed = 1;
	assert_int_equal(reported_take_latency(&reporter, &report), 0);
	assert_int_equal(calls, 1);
	assert_int_equal(rows[1].count, 2);
}
