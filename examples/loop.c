/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A control loop of 1 kHz that reports its own overruns: the trace of its CPU up to the first one
 * is in perf-poke.data.
 *
 *	cc loop.c $(pkg-config --cflags --libs libperfpoke) -pthread -o loop && sudo ./loop 3
 */
#define _GNU_SOURCE 1
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <perf_poke.h>

#define NSEC_PER_SEC 1000000000
#define PERIOD_NS 1000000
#define LATE_NS 500000

static volatile sig_atomic_t ended;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

static void control(void)
{
	/* Read the sensors, move the actuators. */
}

/* The whole cycle is reported: from when it should have begun until it has ended. */
static void *loop(void *session)
{
	struct perf_poke_report report = {
		.sz = sizeof(report),
		.expected_ns = now_ns(),
		.cpu = -1,
		.label = "control loop",
	};

	while (!ended) {
		struct timespec next;

		report.expected_ns += PERIOD_NS;
		next.tv_sec = (time_t)(report.expected_ns / NSEC_PER_SEC);
		next.tv_nsec = (long)(report.expected_ns % NSEC_PER_SEC);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
		control();
		report.actual_ns = now_ns();
		perf_poke__report(session, &report);
	}
	return NULL;
}

static int start_loop(struct perf_poke *session, int cpu, pthread_t *thread)
{
	const struct sched_param param = { .sched_priority = 80 };
	pthread_attr_t attr;
	cpu_set_t set;
	int err;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	pthread_attr_init(&attr);
	pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
	pthread_attr_setschedparam(&attr, &param);
	err = pthread_create(thread, &attr, loop, session);
	pthread_attr_destroy(&attr);
	return -err;
}

static void on_log(void *ctx, enum perf_poke_log_level level, const char *msg)
{
	(void)ctx;
	if (level <= PERF_POKE_LOG_WARN)
		fprintf(stderr, "%s\n", msg);
}

static void on_capture(void *ctx, const struct perf_poke_capture *capture)
{
	(void)ctx;
	if (capture->error)
		return;
	ended = 1;
	printf("%s: %" PRIu64 " ns late on CPU %d: %s\n", capture->spike->label,
	       capture->spike->latency_ns, capture->spike->cpu, capture->path);
}

static void print_cycles(const struct perf_poke *session)
{
	struct perf_poke_stats stats = { .sz = sizeof(stats) };

	if (!perf_poke__stats(session, PERF_POKE_TRIGGER_REPORT, -1, &stats))
		printf("%" PRIu64 " cycles, the longest took %" PRIu64 " ns\n", stats.count,
		       stats.max_ns);
}

static void on_signal(int signal)
{
	(void)signal;
	ended = 1;
}

int main(int argc, char **argv)
{
	const char *cpu = argc > 1 ? argv[1] : "0";
	const struct perf_poke_trigger trigger = { PERF_POKE_TRIGGER_REPORT, LATE_NS };
	const struct perf_poke_opts opts = {
		.sz = sizeof(opts),
		.cpus = cpu,
		.triggers = &trigger,
		.nr_triggers = 1,
		.trigger_sz = sizeof(trigger),
		.log = on_log,
		.on_capture = on_capture,
	};
	struct perf_poke *session;
	pthread_t thread;
	int err;

	if (perf_poke__new(&session, &opts))
		return 1;
	signal(SIGINT, on_signal);
	err = perf_poke__start(session);
	if (!err)
		err = start_loop(session, atoi(cpu), &thread);
	if (!err) {
		while (!ended && perf_poke__poll(session, 1000) >= 0)
			;
		ended = 1;
		pthread_join(thread, NULL);
		perf_poke__stop(session);
		print_cycles(session);
	}
	perf_poke__free(session);
	if (err)
		fprintf(stderr, "%s\n", strerror(-err));
	return err ? 1 : 0;
}
