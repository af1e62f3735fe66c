// SPDX-License-Identifier: GPL-2.0-only
/*
 * From a spike to SIGUSR2 pending at its target, and to the target's handler, by each way of
 * delivery. The last, `relay`, is the reference: a process that is told by the ring buffer and
 * calls kill(), as the older design did it.
 *
 * The target waits like perf does, in poll() on a perf event. It and the relaying process are on
 * one CPU, the timer on another. In half of the rows the CPU of the target is kept busy by some
 * processes of normal priority; in half, target and relay are SCHED_FIFO.
 */
#include <errno.h>
#include <fcntl.h>
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

#include "clock.h"
#include "cyclic.h"
#include "delivery/delivery.h"
#include "poke.h"
#include "tracefs.h"
#include "trigger.h"

#define SHOTS 200
#define HOGS 8
#define PERIOD_NS 2000000
#define LOST_NS 200000000
#define WAKE "pp-bench-delivery"
#define EXIT_SKIP 77
#define SYSCALLS 2000000
#define ROUNDS 7

/* What target and bench share */
struct shared {
	uint64_t handled;
	uint64_t handled_ns;
	bool ready;
};

struct shot {
	uint64_t pending_ns, handled_ns;
};

struct condition {
	const char *name;
	bool busy, fifo;
};

static const struct condition conditions[] = {
	{ "idle", false, false },
	{ "idle, FIFO", false, true },
	{ "busy", true, false },
	{ "busy, FIFO", true, true },
};

static struct shared *shared;

static void print_log(void *ctx, enum perf_poke_log_level level, const char *msg)
{
	(void)ctx;
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
	(void)signal;
	shared->handled_ns = clock_ns(CLOCK_MONOTONIC);
	__atomic_add_fetch(&shared->handled, 1, __ATOMIC_RELEASE);
}

/* What wakes the target where the way needs it. */
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

/* They end with the first. */
static pid_t start_hogs(int cpu)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pin(cpu);
	for (int i = 1; i < HOGS; i++) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		break;
	}
	for (;;)
		;
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

static void print_times(const uint64_t *times, size_t nr)
{
	printf(" %8.1f %8.1f %8.1f %8.1f", (double)times[nr / 2] / 1000,
	       (double)times[nr * 9 / 10] / 1000, (double)times[nr * 99 / 100] / 1000,
	       (double)times[nr - 1] / 1000);
}

/* Returns the median time to the handler. */
static uint64_t print_shots(const char *condition, const char *way, const struct shot *shots,
			    size_t nr, uint64_t refused)
{
	uint64_t pending[SHOTS], handled[SHOTS];

	for (size_t i = 0; i < nr; i++) {
		pending[i] = shots[i].pending_ns;
		handled[i] = shots[i].handled_ns;
	}
	qsort(pending, nr, sizeof(*pending), by_value);
	qsort(handled, nr, sizeof(*handled), by_value);
	printf("%-11s %-11s %5zu %7" PRIu64, condition, way, nr, refused);
	if (nr) {
		print_times(pending, nr);
		print_times(handled, nr);
	}
	printf("\n");
	fflush(stdout);
	return nr ? handled[nr / 2] : 0;
}

/* Arms, waits for the spike and what becomes of it. Returns whether the signal arrived. */
static bool shoot(struct poke *poke, struct trigger *trigger, struct shot *shot)
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
		shot->pending_ns = live->pending_ns - spike.time_ns;
		shot->handled_ns = shared->handled_ns - spike.time_ns;
		return true;
	}
	trigger_take(trigger);
	return false;
}

static uint64_t run_shots(struct poke *poke, struct trigger *trigger, const char *condition,
			  const struct delivery *delivery)
{
	volatile struct poke_target *live = trigger_targets(trigger);
	struct shot shots[SHOTS];
	uint64_t refused = 0;
	size_t nr = 0;

	for (size_t i = 0; i < SHOTS; i++) {
		nr += shoot(poke, trigger, &shots[nr]);
		usleep(2000 + rand() % 3000);
	}
	for (size_t way = 0; way < POKE_WAYS; way++)
		refused += live->refused[way];
	return print_shots(condition, delivery->name, shots, nr, refused);
}

static uint64_t measure(const struct condition *condition, enum perf_poke_delivery wanted,
			const struct delivery *delivery, int cpu, int spike_cpu)
{
	pid_t pid = start_target(cpu, spike_cpu, condition->fifo);
	struct perf_poke_target target = { .pid = pid, .any_process = true, .wake = WAKE };
	struct config config = {
		.cpus = &spike_cpu,
		.nr_cpus = 1,
		.targets = &target,
		.nr_targets = 1,
		.delivery = wanted,
	};
	struct trigger_config trigger_config = {
		.cpus = &spike_cpu,
		.nr_cpus = 1,
		.threshold_ns = 1,
	};
	struct trigger *trigger = NULL;
	struct poke *poke = NULL;
	uint64_t median = 0;

	if (!poke_open(&poke, &config, &log)) {
		poke_configure(poke, &trigger_config);
		if (!trigger_open(&trigger, &trigger_config, &log) && !poke_start(poke, trigger)) {
			set_fifo(condition->fifo);
			median = run_shots(poke, trigger, condition->name, delivery);
			set_fifo(false);
		}
	}
	poke_free(poke);
	trigger_free(trigger);
	end(pid);
	return median;
}

static void measure_condition(const struct condition *condition, int cpu, int spike_cpu)
{
	static const enum perf_poke_delivery wanted[] = {
		PERF_POKE_DELIVERY_TASK_WORK,  PERF_POKE_DELIVERY_FASYNC,
		PERF_POKE_DELIVERY_TRACEPOINT, PERF_POKE_DELIVERY_DIRECT,
		PERF_POKE_DELIVERY_RELAY,
	};
	pid_t hogs = condition->busy ? start_hogs(cpu) : 0;
	uint64_t medians[ARRAY_SIZE(wanted)] = {};
	uint64_t relay;

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		if (deliveries[i]->try())
			printf("%-11s %-11s not on this kernel\n", condition->name,
			       deliveries[i]->name);
		else
			medians[i] = measure(condition, wanted[i], deliveries[i], cpu, spike_cpu);
	}
	end(hogs);
	relay = medians[ARRAY_SIZE(wanted) - 1];
	printf("%-11s the relay's median, in times of each:", condition->name);
	for (size_t i = 0; i + 1 < ARRAY_SIZE(wanted); i++) {
		if (medians[i])
			printf(" %s %.2f", deliveries[i]->name, (double)relay / (double)medians[i]);
	}
	printf("\n\n");
}

/* -- What the hook of `tracepoint` costs others */

static uint64_t time_syscalls(void)
{
	uint64_t begin = clock_ns(CLOCK_MONOTONIC);

	for (size_t i = 0; i < SYSCALLS; i++)
		syscall(SYS_getppid);
	return clock_ns(CLOCK_MONOTONIC) - begin;
}

static void measure_hook(int cpu)
{
	const struct trigger_config config = {
		.threshold_ns = UINT64_MAX,
		.poke_ways = 1U << POKE_WAY_TRACEPOINT,
	};
	uint64_t without[ROUNDS], with[ROUNDS];

	if (delivery_tracepoint.try()) {
		printf("tracepoint: not on this kernel\n");
		return;
	}
	pin(cpu);
	time_syscalls();
	/* In turns, so that what else the machine does falls on both. */
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

int main(void)
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
	if (shared == MAP_FAILED || cyclic_start(&cyclic, &spike_cpu, 1, PERIOD_NS, 60, &log))
		return 1;
	printf("%d shots each; target and relay on CPU %d, timer on CPU %d; times from the spike "
	       "in "
	       "us\n%-11s %-11s %5s %7s %35s %35s\n%-37s %8s %8s %8s %8s %8s %8s %8s %8s\n",
	       SHOTS, cpu, spike_cpu, "CPU", "delivery", "shots", "refused",
	       "to the signal pending", "to the handler", "", "p50", "p90", "p99", "max", "p50",
	       "p90", "p99", "max");
	for (size_t i = 0; i < ARRAY_SIZE(conditions); i++)
		measure_condition(&conditions[i], cpu, spike_cpu);
	cyclic_stop(cyclic);
	measure_hook(cpu);
	return 0;
}
