// SPDX-License-Identifier: GPL-2.0-only
/* `reporter CPU OTHER OUTPUT`: several threads report to this program's own session while the main
 * thread polls. Prints a JSON object: what the calls returned, and the session's counts. */
#include <errno.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <perf_poke.h>

#define BELOW 1000
#define BELOW_NS 1000
#define SPIKE_NS 2000000
#define THRESHOLD_NS 1000000
#define LATE 50000
#define CHILDREN 3
#define SPIKES 6 /* of report_all() */
#define STORM_THREADS 4
#define STORM_MS 200

static struct perf_poke *session;
static struct perf_poke_reporter *reporter; /* if not NULL, report as another process does */
static int cpu, other;
static volatile sig_atomic_t from_handler;
static uint64_t storm_reports, captures;

static int report_late(uint64_t latency_ns, int where, int tid, const char *label)
{
	struct timespec now;
	struct perf_poke_report report = {
		.sz = sizeof(report), .cpu = where, .tid = tid, .label = label
	};

	clock_gettime(CLOCK_MONOTONIC, &now);
	report.actual_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	report.expected_ns = report.actual_ns - latency_ns;
	return reporter ? perf_poke__session_report(reporter, &report)
			: perf_poke__report(session, &report);
}

static void move_to(int where)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(where, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		exit(1);
}

/* Once the session is armed again. */
static int take_spike(int where, const char *label)
{
	int ret;

	while (!(ret = report_late(SPIKE_NS, where, 0, label)))
		usleep(1000);
	return ret;
}

static void on_signal(int number)
{
	from_handler = take_spike(-1, "from a handler");
}

static void report_by_name(void)
{
	int below = 0, spike;

	if (perf_poke__session_open(&reporter, perf_poke__session(session)))
		exit(1);
	for (int i = 0; i < BELOW; i++)
		below += report_late(BELOW_NS, cpu, 0, NULL);
	spike = take_spike(cpu, "by name");
	printf("\"below_by_name\": %d, \"by_name\": %d, \"unwatched_by_name\": %d, ", below, spike,
	       report_late(BELOW_NS, other, 0, NULL));
	perf_poke__session_close(reporter);
	reporter = NULL;
}

/* The previous capture must be complete: a spike during a capture is not recorded. */
static void *report_all(void *done)
{
	int below = 0, spike, unwatched, remote, disarmed, long_label;

	move_to(cpu);
	errno = ENOTTY;
	for (int i = 0; i < BELOW; i++)
		below += report_late(BELOW_NS, -1, 0, NULL);
	printf("\"below\": %d, \"errno_kept\": %d, ", below, errno == ENOTTY);
	spike = take_spike(-1, "a label");
	raise(SIGUSR1);
	long_label = take_spike(
		-1, "a label that is longer than the 63 bytes that are kept of it, to the end");
	move_to(other);
	unwatched = report_late(SPIKE_NS, -1, 0, NULL);
	remote = take_spike(cpu, "from elsewhere");
	report_by_name();
	perf_poke__disarm(session);
	disarmed = report_late(SPIKE_NS, cpu, 0, "disarmed");
	perf_poke__arm(session);
	printf("\"spike\": %d, \"handler\": %d, \"long_label\": %d, \"unwatched\": %d, "
	       "\"remote\": %d, \"disarmed\": %d, \"armed\": %d, ",
	       spike, (int)from_handler, long_label, unwatched, remote, disarmed,
	       take_spike(cpu, "armed"));
	__atomic_store_n((int *)done, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Until the session has ended. */
static void *storm(void *arg)
{
	uint64_t reports = 0;

	move_to(cpu);
	while (report_late(reports % 100 ? BELOW_NS : SPIKE_NS, -1, 0, "storm") >= 0)
		reports++;
	__atomic_add_fetch(&storm_reports, reports, __ATOMIC_RELAXED);
	return NULL;
}

static void on_capture(void *ctx, const struct perf_poke_capture *capture)
{
	captures += !capture->error;
}

static void print_counts(const char *name)
{
	struct perf_poke_stats stats = { .sz = sizeof(stats) };
	int ret = perf_poke__stats(session, PERF_POKE_TRIGGER_REPORT, cpu, &stats);

	printf("\"%s\": {\"ret\": %d, \"count\": %" PRIu64 ", \"spikes\": %" PRIu64
	       ", \"unarmed\": %" PRIu64 "}, ",
	       name, ret, stats.count, stats.spikes, stats.unarmed);
}

static void run_one(pthread_t *thread, int *done)
{
	if (pthread_create(thread, NULL, report_all, done))
		exit(1);
	while (!__atomic_load_n(done, __ATOMIC_ACQUIRE)) {
		if (perf_poke__poll(session, 10) < 0)
			exit(1);
	}
	pthread_join(*thread, NULL);
	print_counts("counts");
}

static void report_often(void)
{
	struct perf_poke_report report = { .sz = sizeof(report), .expected_ns = 1, .cpu = cpu };

	for (int i = 0; i < LATE; i++) {
		report.actual_ns = report.expected_ns + SPIKE_NS + i;
		if (reporter ? perf_poke__session_report(reporter, &report)
			     : perf_poke__report(session, &report))
			_exit(1);
	}
}

/* A system call kills them. */
static void start_children(void)
{
	for (int i = 0; i < CHILDREN; i++) {
		if (fork())
			continue;
		if (perf_poke__session_open(&reporter, perf_poke__session(session)))
			_exit(1);
		move_to(other);
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
		report_often();
		syscall(SYS_exit, 0);
	}
}

static void join_children(void)
{
	int status;

	while (wait(&status) > 0) {
		if (status)
			exit(1);
	}
}

/* As the library does it for a latency that may be a spike. */
static void run_program(void)
{
	struct {
		uint64_t expected_ns, actual_ns, tid;
		char label[64];
	} args = { .expected_ns = 1 };
	union bpf_attr attr = { 0 };
	char path[128];

	snprintf(path, sizeof(path), "/sys/fs/bpf/perf-poke/%s/report",
		 perf_poke__session(session));
	attr.pathname = (uintptr_t)path;
	attr.test.prog_fd = (uint32_t)syscall(SYS_bpf, BPF_OBJ_GET, &attr, sizeof(attr));
	attr.test.ctx_in = (uintptr_t)&args;
	attr.test.ctx_size_in = sizeof(args);
	attr.test.flags = BPF_F_TEST_RUN_ON_CPU;
	attr.test.cpu = (uint32_t)cpu;
	for (int i = 0; i < LATE; i++) {
		args.actual_ns = args.expected_ns + SPIKE_NS + i;
		if (syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attr, sizeof(attr)) || attr.test.retval)
			exit(1);
	}
	close((int)attr.test.prog_fd);
}

/* Nothing of this may be captured, but the first report afterwards. */
static void run_disarmed(void)
{
	move_to(cpu);
	while (captures < SPIKES)
		perf_poke__poll(session, 10);
	perf_poke__disarm(session);
	print_counts("late");
	report_often();
	print_counts("late_own");
	run_program();
	print_counts("late_program");
	start_children();
	run_program();
	join_children();
	print_counts("late_all");
	move_to(other);
	perf_poke__arm(session);
	printf("\"rearmed\": %d, ", report_late(SPIKE_NS, cpu, 0, "rearmed"));
	while (captures < SPIKES + 1)
		perf_poke__poll(session, 10);
	print_counts("rearmed_counts");
}

static void run_storm(pthread_t *threads)
{
	for (int i = 0; i < STORM_THREADS; i++) {
		if (pthread_create(&threads[i], NULL, storm, NULL))
			exit(1);
	}
	for (int i = 0; i < STORM_MS / 10; i++)
		perf_poke__poll(session, 10);
	perf_poke__stop(session);
	for (int i = 0; i < STORM_THREADS; i++)
		pthread_join(threads[i], NULL);
	print_counts("all");
	printf("\"storm_reports\": %" PRIu64 ", ", storm_reports);
}

int main(int argc, char **argv)
{
	const struct perf_poke_trigger trigger = { PERF_POKE_TRIGGER_REPORT, THRESHOLD_NS };
	pthread_t threads[STORM_THREADS];
	char name[32];
	struct perf_poke_opts opts = {
		.sz = sizeof(opts),
		.triggers = &trigger,
		.nr_triggers = 1,
		.trigger_sz = sizeof(trigger),
		.recorder = PERF_POKE_RECORDER_NONE,
		.max_captures = UINT64_MAX,
		.on_capture = on_capture,
		.session = name,
	};
	int done = 0;

	if (argc != 4)
		return 2;
	snprintf(name, sizeof(name), "reporter-%d", (int)getpid());
	opts.cpus = argv[1];
	opts.output = argv[3];
	cpu = atoi(argv[1]);
	other = atoi(argv[2]);
	signal(SIGUSR1, on_signal);
	if (perf_poke__new(&session, &opts))
		return 1;
	printf("{\"before\": %d, ", report_late(SPIKE_NS, -1, 0, NULL));
	if (perf_poke__start(session))
		return 1;
	run_one(threads, &done);
	run_disarmed();
	run_storm(threads);
	printf("\"after\": %d, \"captures\": %" PRIu64 "}\n", report_late(SPIKE_NS, -1, 0, NULL),
	       captures);
	perf_poke__free(session);
	return 0;
}
