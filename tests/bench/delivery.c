// SPDX-License-Identifier: GPL-2.0-only
/*
 * Time from a spike to SIGUSR2 pending at the target, and to the target's handler, for each
 * delivery. The last, `relay`, is the reference: a process reads the ring buffer and calls kill(),
 * as in the older design. The ratios are the relay's time divided by that of each delivery.
 *
 * Like perf, the target waits in poll() on a perf event. The target and the relay are on one CPU,
 * the timer on another. The target's CPU is idle or runs processes of normal priority: some never
 * sleep, others behave like a compilation. In some rows the target and the relay are SCHED_FIFO.
 *
 * usage: delivery [CONDITION...]: only these conditions, by their names in the table.
 */
#include <inttypes.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "clock.h"
#include "delivery/delivery.h"
#include "trigger/trigger.h"
#include "workload/workload.h"

/* In turns, so that other load affects all deliveries alike. */
#define TURNS 4
#define SHOTS_A_TURN 50
#define SHOTS (TURNS * SHOTS_A_TURN)
#define WAYS 4
#define PERIOD_NS 2000000
#define LOST_NS 2000000000
#define WAKE "pp-bench-delivery"
#define EXIT_SKIP 77
#define SYSCALLS 2000000
#define ROUNDS 7

/* Shared by the target and the bench */
struct shared {
	uint64_t handled;
	uint64_t handled_ns;
	bool ready;
};

struct condition {
	const char *name;
	int hogs;
	bool sleep, fifo;
};

static const struct condition conditions[] = {
	{ "idle", 0, false, false },	  { "idle,fifo", 0, false, true },
	{ "make8", 8, true, false },	  { "make32", 32, true, false },
	{ "busy1", 1, false, false },	  { "busy8", 8, false, false },
	{ "busy16", 16, false, false },	  { "busy32", 32, false, false },
	{ "busy8,fifo", 8, false, true },
};

/* Of one delivery under one condition. */
struct series {
	uint64_t pending_ns[SHOTS], handled_ns[SHOTS];
	size_t nr;
	uint64_t refused;
};

static struct shared *shared;

static void print_log(void *ctx, enum perf_poke_log_level level, const char *msg)
{
	if (level <= PERF_POKE_LOG_WARN)
		fprintf(stderr, "%s\n", msg);
}

static const struct log log = { .fn = print_log };

/* -- Processes */

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void set_fifo(bool fifo)
{
	const struct sched_param param = { .sched_priority = fifo ? 50 : 0 };

	sched_setscheduler(0, fifo ? SCHED_FIFO : SCHED_OTHER, &param);
}

static void on_signal(int signal)
{
	shared->handled_ns = clock_ns(CLOCK_MONOTONIC);
	__atomic_add_fetch(&shared->handled, 1, __ATOMIC_RELEASE);
}

/* Wakes the target if the delivery needs that. */
static int open_wake_event(int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_TRACEPOINT,
		.config = tracefs_printk_id(),
		.sample_period = 1,
		.wakeup_events = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0) {
		ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "bpf_string ~ \"" WAKE "*\"");
		mmap(NULL, 2 * sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
	}
	return fd;
}

static void run_target(int cpu, int spike_cpu, bool fifo)
{
	struct pollfd event = { .fd = open_wake_event(spike_cpu), .events = POLLIN };
	struct sigaction action = { .sa_handler = on_signal };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pin(cpu);
	set_fifo(fifo);
	sigaction(SIGUSR2, &action, NULL);
	shared->ready = true;
	for (;;)
		poll(&event, 1, -1);
}

static pid_t start_target(int cpu, int spike_cpu, bool fifo)
{
	pid_t pid;

	*shared = (struct shared){};
	pid = fork();
	if (!pid)
		run_target(cpu, spike_cpu, fifo);
	while (pid > 0 && !*(volatile bool *)&shared->ready)
		usleep(1000);
	usleep(10000);
	return pid;
}

/* Alternately computes for some milliseconds and waits briefly; or never waits. */
static void run_hog(bool sleep)
{
	for (;;) {
		uint64_t until = clock_ns(CLOCK_MONOTONIC) + 200000 + rand() % 4000000;

		while (sleep && clock_ns(CLOCK_MONOTONIC) < until)
			;
		if (sleep)
			usleep(50 + rand() % 1000);
	}
}

/* They exit with the first one. */
static pid_t start_hogs(int cpu, int nr, bool sleep)
{
	pid_t pid = nr ? fork() : 0;

	if (pid || !nr)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pin(cpu);
	for (int i = 1; i < nr; i++) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		srand(i);
		break;
	}
	run_hog(sleep);
	return 0;
}

static void end(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* -- Shots */

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t percentile(const uint64_t *times, size_t nr, int percent)
{
	return times[nr * percent / 100];
}

static void print_times(const uint64_t *times, size_t nr)
{
	printf(" %8.1f %8.1f %8.1f %8.1f", (double)percentile(times, nr, 50) / 1000,
	       (double)percentile(times, nr, 90) / 1000, (double)percentile(times, nr, 99) / 1000,
	       (double)times[nr - 1] / 1000);
}

static void print_ratio(const uint64_t *ours, size_t nr, const uint64_t *relays, size_t nr_relays)
{
	for (int percent = 50; percent <= 99; percent += 49)
		printf(" %7.2f", (double)percentile(relays, nr_relays, percent) /
					 (double)percentile(ours, nr, percent));
}

static void print_series(const char *condition, const char *way, const struct series *series,
			 const struct series *relay)
{
	printf("%-11s %-11s %5zu %7" PRIu64, condition, way, series->nr, series->refused);
	if (series->nr) {
		print_times(series->pending_ns, series->nr);
		print_times(series->handled_ns, series->nr);
	}
	if (series->nr && relay->nr && series != relay) {
		print_ratio(series->pending_ns, series->nr, relay->pending_ns, relay->nr);
		print_ratio(series->handled_ns, series->nr, relay->handled_ns, relay->nr);
	}
	printf("\n");
	fflush(stdout);
}

/* Arms, then waits for the spike and its signal. */
static void shoot(struct poke *poke, struct trigger *trigger, struct series *series)
{
	volatile struct poke_target *live = trigger_targets(trigger);
	uint64_t before = __atomic_load_n(&shared->handled, __ATOMIC_ACQUIRE);
	uint64_t until = clock_ns(CLOCK_MONOTONIC) + LOST_NS;
	struct trigger_spike spike = {};
	struct pollfd fds[] = {
		{ .fd = trigger_fd(trigger), .events = POLLIN },
		{ .fd = poke_fd(poke), .events = POLLIN },
	};

	trigger_arm(trigger);
	while (clock_ns(CLOCK_MONOTONIC) < until) {
		poll(fds, 2, 10);
		if (!spike.sequence && trigger_read(trigger, &spike) > 0)
			poke_settle(poke, spike.sequence, true);
		poke_poll(poke);
		if (!spike.sequence || !live->pending_ns ||
		    __atomic_load_n(&shared->handled, __ATOMIC_ACQUIRE) == before)
			continue;
		series->pending_ns[series->nr] = live->pending_ns - spike.time_ns;
		series->handled_ns[series->nr++] = shared->handled_ns - spike.time_ns;
		return;
	}
	trigger_take(trigger);
}

static void run_shots(struct poke *poke, struct trigger *trigger, struct series *series)
{
	volatile struct poke_target *live = trigger_targets(trigger);

	for (size_t i = 0; i < SHOTS_A_TURN; i++) {
		shoot(poke, trigger, series);
		usleep(2000 + rand() % 3000);
	}
	for (size_t way = 0; way < POKE_WAYS; way++)
		series->refused += live->refused[way];
}

/* Unmeasured work has priority: under load it would take long. */
static void measure(const struct condition *condition, enum perf_poke_delivery wanted, int cpu,
		    int spike_cpu, struct series *series)
{
	pid_t pid = start_target(cpu, spike_cpu, condition->fifo);
	struct perf_poke_target target = { .pid = pid, .any_process = true, .wake = WAKE };
	struct config config = {
		.cpus = &spike_cpu,
		.nr_cpus = 1,
		.opts.targets = &target,
		.opts.nr_targets = 1,
		.opts.delivery = wanted,
	};
	struct trigger_config trigger_config = {
		.cpus = &spike_cpu,
		.nr_cpus = 1,
		.thresholds_ns[PERF_POKE_TRIGGER_IRQ] = 1,
	};
	struct trigger *trigger = NULL;
	struct poke *poke = NULL;

	if (!poke_open(&poke, &config, &log)) {
		poke_configure(poke, &trigger_config);
		if (!trigger_open(&trigger, &trigger_config, &log) && !poke_start(poke, trigger)) {
			set_fifo(condition->fifo);
			run_shots(poke, trigger, series);
			set_fifo(true);
		}
	}
	poke_free(poke);
	trigger_free(trigger);
	end(pid);
}

static void measure_condition(const struct condition *condition, int cpu, int spike_cpu)
{
	static const enum perf_poke_delivery wanted[WAYS] = {
		PERF_POKE_DELIVERY_TASK_WORK,
		PERF_POKE_DELIVERY_FASYNC,
		PERF_POKE_DELIVERY_TRACEPOINT,
		PERF_POKE_DELIVERY_RELAY,
	};
	pid_t hogs = start_hogs(cpu, condition->hogs, condition->sleep);
	static struct series series[WAYS];
	bool works[WAYS];

	memset(series, 0, sizeof(series));
	set_fifo(true);
	for (size_t i = 0; i < WAYS; i++)
		works[i] = !delivery_row(i)->probe.try(&(struct probe_detail){});
	for (size_t i = 0; i < TURNS * WAYS; i++) {
		if (works[i % WAYS])
			measure(condition, wanted[i % WAYS], cpu, spike_cpu, &series[i % WAYS]);
	}
	set_fifo(false);
	end(hogs);
	for (size_t i = 0; i < WAYS; i++) {
		qsort(series[i].pending_ns, series[i].nr, sizeof(uint64_t), by_value);
		qsort(series[i].handled_ns, series[i].nr, sizeof(uint64_t), by_value);
	}
	for (size_t i = 0; i < WAYS; i++) {
		if (works[i])
			print_series(condition->name, delivery_row(i)->choice.name, &series[i],
				     &series[WAYS - 1]);
		else
			printf("%-11s %-11s not on this kernel\n", condition->name,
			       delivery_row(i)->choice.name);
	}
}

/* -- The cost of the hook of `tracepoint` to other tasks */

static uint64_t time_syscalls(void)
{
	uint64_t begin = clock_ns(CLOCK_MONOTONIC);

	for (size_t i = 0; i < SYSCALLS; i++)
		syscall(SYS_getppid);
	return clock_ns(CLOCK_MONOTONIC) - begin;
}

static void measure_hook(int cpu)
{
	const struct trigger_config config = { .poke_ways = 1U << PERF_POKE_DELIVERY_TRACEPOINT };
	uint64_t without[ROUNDS], with[ROUNDS];

	if (delivery_of(PERF_POKE_DELIVERY_TRACEPOINT)->probe.try(&(struct probe_detail){})) {
		printf("tracepoint: not on this kernel\n");
		return;
	}
	pin(cpu);
	time_syscalls();
	/* In turns, so that other load affects both alike. */
	for (size_t i = 0; i < ROUNDS; i++) {
		struct trigger *trigger;

		without[i] = time_syscalls();
		if (trigger_open(&trigger, &config, &log))
			return;
		with[i] = time_syscalls();
		trigger_free(trigger);
	}
	qsort(without, ROUNDS, sizeof(*without), by_value);
	qsort(with, ROUNDS, sizeof(*with), by_value);
	printf("a system call of a process that has no perf events: %.1f ns, with the hook of "
	       "tracepoint %.1f ns: %+.2f %% (aim: less than 1 %%)\n",
	       (double)without[ROUNDS / 2] / SYSCALLS, (double)with[ROUNDS / 2] / SYSCALLS,
	       100.0 * ((double)with[ROUNDS / 2] / (double)without[ROUNDS / 2] - 1));
}

static bool is_wanted(const struct condition *condition, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(condition->name, argv[i]))
			return true;
	}
	return argc < 2;
}

int main(int argc, char **argv)
{
	struct cyclic *cyclic;
	cpu_set_t set;
	int cpu = -1, spike_cpu = -1;

	if (geteuid()) {
		printf("needs root\n");
		return EXIT_SKIP;
	}
	sched_getaffinity(0, sizeof(set), &set);
	for (int i = 0; i < CPU_SETSIZE; i++) {
		if (!CPU_ISSET(i, &set))
			continue;
		cpu = cpu < 0 ? i : cpu;
		spike_cpu = i;
	}
	if (cpu == spike_cpu) {
		printf("needs two CPUs\n");
		return EXIT_SKIP;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	pin(cpu);
	if (shared == MAP_FAILED || cyclic_start(&cyclic, &spike_cpu, 1, PERIOD_NS, 60, NULL, &log))
		return 1;
	printf("%d shots each; target and relay on CPU %d, timer on CPU %d; times from the spike "
	       "in "
	       "us\n%-11s %-11s %5s %7s %35s %35s %31s\n%-37s %8s %8s %8s %8s %8s %8s %8s %8s %15s "
	       "%15s\n",
	       SHOTS, cpu, spike_cpu, "CPU", "delivery", "shots", "refused",
	       "to the signal pending", "to the handler", "relay's, in times of this", "", "p50",
	       "p90", "p99", "max", "p50", "p90", "p99", "max", "pending p50 p99",
	       "handler p50 p99");
	for (size_t i = 0; i < ARRAY_SIZE(conditions); i++) {
		if (is_wanted(&conditions[i], argc, argv))
			measure_condition(&conditions[i], cpu, spike_cpu);
	}
	cyclic_stop(cyclic);
	if (argc < 2)
		measure_hook(cpu);
	return 0;
}
