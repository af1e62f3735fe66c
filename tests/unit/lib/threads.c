// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* What threads of a program share: `tests/run --full` runs it with the thread sanitizer. */
#include "session/session.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "machine/base.h"
#include "trigger/trigger.h"

#include "bpf/trigger.skel.h"
#include "test.h"

#define THREADS 4
#define TURNS 20000
#define CPUS 2
#define CPU 1

static void run_threads(void *(*run)(void *arg), void *arg, pthread_t threads[THREADS])
{
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run, arg), 0);
}

static void join_threads(pthread_t threads[THREADS])
{
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
}

/* Reports that are only counted, and sessions that look at the statistics. */

static struct trigger_bpf__data_arming arming;
static struct trigger_cpu rows[CPUS];

static void *count_all(void *arg)
{
	const struct trigger_counters *counters = arg;

	for (unsigned int i = 1; i <= TURNS; i++)
		assert_int_equal(reported_count_latency(counters, CPU, i), 0);
	return NULL;
}

TEST(statistics_are_read_while_they_change)
{
	const struct trigger_counters counters = { .rows = rows,
						   .nr_rows = CPUS,
						   .arming = &arming };
	static const int cpu = CPU;
	const struct stats_table table = { .table = rows, .cpus = &cpu, .nr = 1 };
	struct perf_poke_stats sum = { 0 };
	pthread_t threads[THREADS];

	rows[CPU].watched = TRIGGER_WATCHED;
	rows[CPU].threshold_ns = UINT64_MAX;
	run_threads(count_all, (void *)&counters, threads);
	while (sum.count < THREADS * TURNS) {
		struct stats_snapshot snapshot = { 0 };
		uint64_t before = sum.count;

		stats_take_snapshot(&table, &snapshot);
		sum = snapshot.sum;
		assert_true(sum.count >= before);
		stats_add_unpaired(&sum, rows, CPUS);
	}
	join_threads(threads);
	sum = stats_sum_rows(&table);
	assert_int_equal(sum.count, THREADS * TURNS);
	assert_int_equal(sum.max_ns, TURNS);
	assert_int_equal(sum.sum_ns, THREADS * (uint64_t)TURNS * (TURNS + 1) / 2);
}

/* Sessions start in several threads at once. */

static void *init_all(void *arg)
{
	const struct log log = { 0 };

	for (int i = 0; i < 1000; i++) {
		evsel_init_libperf();
		last_error_clear();
		log_release_libbpf(log_capture_libbpf(&log));
		last_error_return(-EINVAL);
		assert_string_equal(perf_poke__last_error(), strerror(EINVAL));
	}
	return NULL;
}

TEST(libraries_are_prepared_once)
{
	pthread_t threads[THREADS];

	run_threads(init_all, NULL, threads);
	join_threads(threads);
}

/* A session stops while others report to it. */

static void *report_until_stopped(void *arg)
{
	struct perf_poke_report report = { .sz = sizeof(report), .expected_ns = 1 };
	int ret;

	do
		ret = perf_poke__report(arg, &report);
	while (ret == -ENXIO);
	assert_int_equal(ret, -ENOTCONN);
	return NULL;
}

TEST(stop_waits_for_reports)
{
	/* It watches no reports. */
	static struct perf_poke pp = { .reporter.prog_fd = -1 };
	pthread_t threads[THREADS];

	for (int i = 0; i < 20; i++) {
		pp.reporter.prog_fd = -1;
		any_thread_admit(&pp.gate);
		run_threads(report_until_stopped, &pp, threads);
		any_thread_close(&pp.gate);
		/* Nobody uses it any more. */
		pp.reporter.prog_fd = 0;
		join_threads(threads);
	}
}
