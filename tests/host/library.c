// SPDX-License-Identifier: GPL-2.0-only
/* `library CPU OUTPUT`: what a program can do with the library that the command does not. Prints an
 * object of JSON: `threads`, latencies of threads that a session of the workload cyclic has counted
 * beside a sleeping thread of ours; `thresholds_ns` and `captures` of each run of one session, with
 * a cooldown that never ends, whose thresholds adapt. */
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <perf_poke.h>

#define RUN_MS 1500
/* On a busy machine what is late by more than the threshold, or a capture, may take longer. */
#define PATIENCE_MS 15000
#define SLEEP_US 1000
#define NAME "test-library"

static struct perf_poke *make(struct perf_poke_opts *opts)
{
	struct perf_poke *pp;

	opts->sz = sizeof(*opts);
	opts->workload = PERF_POKE_WORKLOAD_CYCLIC;
	opts->recorder = PERF_POKE_RECORDER_EVENTS;
	opts->buffer_size = 65536;
	if (perf_poke__new(&pp, opts))
		exit(1);
	return pp;
}

static void start(struct perf_poke *pp)
{
	if (perf_poke__start(pp))
		exit(1);
}

/* So long, or until there are enough captures. Returns how many there were. */
static int poll_for(struct perf_poke *pp, int ms, int enough)
{
	struct timespec begin, now;
	int captures = 0, passed_ms = 0;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	while (passed_ms < ms && captures < enough) {
		int ret = perf_poke__poll(pp, ms - passed_ms);

		captures += ret > 0 ? ret : 0;
		clock_gettime(CLOCK_MONOTONIC, &now);
		passed_ms = (int)((now.tv_sec - begin.tv_sec) * 1000 +
				  (now.tv_nsec - begin.tv_nsec) / 1000000);
	}
	return captures;
}

static void *sleep_on(void *arg)
{
	const int *cpu = arg;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(*cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	for (;;)
		usleep(SLEEP_US);
	return NULL;
}

static void count_threads(const char *cpu, const char *output)
{
	const struct perf_poke_trigger trigger = { PERF_POKE_TRIGGER_THREAD, 3600000000000 };
	struct perf_poke_opts opts = { .cpus = cpu,
				       .output = output,
				       .period_ns = 100000000,
				       .triggers = &trigger,
				       .nr_triggers = 1,
				       .trigger_sz = sizeof(trigger) };
	struct perf_poke_stats stats = { .sz = sizeof(stats) };
	struct perf_poke *pp = make(&opts);

	start(pp);
	poll_for(pp, RUN_MS, INT_MAX);
	if (perf_poke__stats(pp, PERF_POKE_TRIGGER_THREAD, -1, &stats))
		exit(1);
	printf("{\"threads\":%" PRIu64, stats.count);
	perf_poke__free(pp);
}

static void note_threshold(void *ctx, const struct perf_poke_session *session)
{
	uint64_t *threshold_ns = ctx;

	if (session->alive && session->pid == getpid() && session->nr_kinds)
		*threshold_ns = session->kinds[0]->threshold_ns;
}

static void restart(const char *cpu, const char *output)
{
	struct perf_poke_opts opts = { .cpus = cpu,
				       .output = output,
				       .session = NAME,
				       .threshold_ns = 1,
				       .adaptive_percent = 50,
				       .warmup_ns = 100000000,
				       .cooldown_ns = UINT64_MAX };
	struct perf_poke *pp = make(&opts);

	printf(",\"runs\":[");
	for (int run = 0; run < 2; run++) {
		uint64_t threshold_ns = 0;
		int captures;

		start(pp);
		perf_poke__sessions(note_threshold, &threshold_ns);
		captures = poll_for(pp, PATIENCE_MS, 1);
		captures += poll_for(pp, RUN_MS, INT_MAX);
		perf_poke__stop(pp);
		printf("%s{\"threshold_ns\":%" PRIu64 ",\"captures\":%d}", run ? "," : "",
		       threshold_ns, captures);
	}
	printf("]}\n");
	perf_poke__free(pp);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int cpu;

	if (argc != 3)
		return 2;
	cpu = atoi(argv[1]);
	if (pthread_create(&thread, NULL, sleep_on, &cpu))
		return 1;
	count_threads(argv[1], argv[2]);
	restart(argv[1], argv[2]);
	return 0;
}
