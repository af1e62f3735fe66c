// SPDX-License-Identifier: GPL-2.0-only
/* `library CPU OUTPUT`: uses of the library that the command does not make. Prints a JSON object:
 * `threads`: thread latencies counted by a session with the cyclic workload, beside a sleeping
 * thread of this program; `threshold_ns` and `captures`: of each run of one session with an endless
 * cooldown; `in_callback`: what functions return in a callback;
 * `together`: in each round two threads start a session at once; how many of them succeed;
 * `forked`: children, forked while a thread reports, that could free the session, what their poll
 * returned, whether the session is listed afterwards, and its captures then. */
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <perf_poke.h>

#define RUN_MS 1500
/* On a busy machine it may take longer until a timer is late, or a capture is written. */
#define PATIENCE_MS 15000
#define SLEEP_US 1000
#define NAME "test-library"
#define ROUNDS 4

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

/* Polls until there are enough captures or the time is up. Returns the number of captures. */
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
	struct perf_poke_opts opts = {
		.cpus = cpu, .output = output, .session = NAME, .threshold_ns = 1
	};
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
	printf("]");
	perf_poke__free(pp);
}

struct calls {
	struct perf_poke *pp;
	int start, poll, stop, stats, captures;
};

static void call_all(void *ctx, const struct perf_poke_capture *capture)
{
	struct perf_poke_stats stats = { .sz = sizeof(stats) };
	struct calls *calls = ctx;

	calls->captures += !capture->error;
	calls->start = perf_poke__start(calls->pp);
	calls->poll = perf_poke__poll(calls->pp, 0);
	calls->stop = perf_poke__stop(calls->pp);
	calls->stats = perf_poke__stats(calls->pp, PERF_POKE_TRIGGER_IRQ, -1, &stats);
}

static void call_in_callback(const char *cpu, const char *output)
{
	struct calls calls = { 0 };
	struct perf_poke_opts opts = { .cpus = cpu,
				       .output = output,
				       .threshold_ns = 3600000000000,
				       .on_capture = call_all,
				       .capture_ctx = &calls };

	calls.pp = make(&opts);
	start(calls.pp);
	if (perf_poke__poke(calls.pp))
		exit(1);
	poll_for(calls.pp, PATIENCE_MS, 1);
	perf_poke__stop(calls.pp);
	printf(",\"in_callback\":{\"captures\":%d,\"start\":%d,\"poll\":%d,\"stop\":%d,"
	       "\"stats\":%d}",
	       calls.captures, calls.start, calls.poll, calls.stop, calls.stats);
	perf_poke__free(calls.pp);
}

struct one_of_two {
	pthread_barrier_t *barrier;
	const char *cpu, *output;
	int err;
};

static void *start_one(void *arg)
{
	struct one_of_two *one = arg;
	struct perf_poke_opts opts = { .cpus = one->cpu, .output = one->output };
	struct perf_poke *pp = make(&opts);

	pthread_barrier_wait(one->barrier);
	one->err = perf_poke__start(pp);
	if (!one->err)
		poll_for(pp, 20, INT_MAX);
	pthread_barrier_wait(one->barrier);
	perf_poke__stop(pp);
	perf_poke__free(pp);
	return NULL;
}

static void start_together(const char *cpu, const char *output)
{
	printf(",\"together\":[");
	for (int round = 0; round < ROUNDS; round++) {
		pthread_barrier_t barrier;
		struct one_of_two two[] = { { &barrier, cpu, output, 0 },
					    { &barrier, cpu, output, 0 } };
		pthread_t threads[2];

		pthread_barrier_init(&barrier, NULL, 2);
		for (int i = 0; i < 2; i++) {
			if (pthread_create(&threads[i], NULL, start_one, &two[i]))
				exit(1);
		}
		for (int i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
		pthread_barrier_destroy(&barrier);
		printf("%s%d", round ? "," : "", !two[0].err + !two[1].err);
	}
	printf("]");
}

struct reporting {
	struct perf_poke *pp;
	int cpu;
	atomic_bool end;
	int captures, failed;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void *report_always(void *arg)
{
	struct reporting *reporting = arg;

	while (!reporting->end) {
		const struct perf_poke_report late = { .sz = sizeof(late),
						       .expected_ns = now_ns() - 400000,
						       .cpu = reporting->cpu };

		perf_poke__report(reporting->pp, &late);
	}
	return NULL;
}

static void count_captures(void *ctx, const struct perf_poke_capture *capture)
{
	struct reporting *reporting = ctx;

	reporting->captures += !capture->error;
	reporting->failed += !!capture->error;
}

static void find_session(void *ctx, const struct perf_poke_session *session)
{
	int *found = ctx;

	*found += session->alive && !strcmp(session->name, NAME);
}

static int free_in_child(struct perf_poke *pp, int *poll)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		alarm(10);
		status = perf_poke__poll(pp, 0);
		perf_poke__free(pp);
		_exit(-status);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		exit(1);
	*poll = WIFEXITED(status) ? -WEXITSTATUS(status) : 0;
	return WIFEXITED(status);
}

static void fork_and_free(const char *cpu, const char *output)
{
	const struct perf_poke_trigger trigger = { PERF_POKE_TRIGGER_REPORT, 200000 };
	struct reporting reporting = { .cpu = atoi(cpu) };
	struct perf_poke_opts opts = { .sz = sizeof(opts),
				       .cpus = cpu,
				       .output = output,
				       .session = NAME,
				       .recorder = PERF_POKE_RECORDER_NONE,
				       .max_captures = UINT64_MAX,
				       .cooldown_ns = 50000000,
				       .triggers = &trigger,
				       .nr_triggers = 1,
				       .trigger_sz = sizeof(trigger),
				       .on_capture = count_captures,
				       .capture_ctx = &reporting };
	int ended = 0, poll = 0, listed = 0;
	pthread_t threads[2];

	if (perf_poke__new(&reporting.pp, &opts))
		exit(1);
	start(reporting.pp);
	for (int i = 0; i < 2; i++) {
		if (pthread_create(&threads[i], NULL, report_always, &reporting))
			exit(1);
	}
	for (int i = 0; i < 20; i++)
		ended += free_in_child(reporting.pp, &poll);
	perf_poke__sessions(find_session, &listed);
	reporting.captures = reporting.failed = 0;
	poll_for(reporting.pp, PATIENCE_MS, 5);
	reporting.end = true;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	perf_poke__stop(reporting.pp);
	printf(",\"forked\":{\"ended\":%d,\"poll\":%d,\"listed\":%d,\"captures\":%d,"
	       "\"failed\":%d}}\n",
	       ended, poll, listed, reporting.captures >= 5, reporting.failed);
	perf_poke__free(reporting.pp);
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
	call_in_callback(argv[1], argv[2]);
	start_together(argv[1], argv[2]);
	fork_and_free(argv[1], argv[2]);
	return 0;
}
