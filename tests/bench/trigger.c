// SPDX-License-Identifier: GPL-2.0-only
/* The cost of an expiry in the trigger program, beside that of an empty program, by the kernel's
 * own measurement of BPF run time. Each is attached alone, because the first program pays for cache
 * misses. usage: bench-trigger [PERIOD_US] */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/trigger.h"
#include "bpf/trigger.skel.h"
#include "empty.skel.h"
#include "machine/base.h"
#include "median.h"
#include "trigger/trigger_internal.h"
#include "workload/workload.h"

#define SECONDS 4
#define PERIOD_US_DEFAULT 200
#define ALONE_TURNS 15
#define ALONE_US 200000
#define PRIORITY 50
/* No timer is that late, so no measured expiry is a spike. */
#define THRESHOLD_NS 10000000000
#define EXIT_SKIP 77

struct cost {
	const char *name;
	uint64_t runs;
	double ns;
};

static void print_log(void *ctx, enum perf_poke_log_level level, const char *msg)
{
	if (level <= PERF_POKE_LOG_WARN)
		fprintf(stderr, "%s\n", msg);
}

static const struct log log = { .fn = print_log };

static size_t my_cpus(int *cpus, size_t size)
{
	cpu_set_t set;
	size_t nr = 0;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 0;
	for (int cpu = 0; cpu < CPU_SETSIZE && nr < size; cpu++) {
		if (CPU_ISSET(cpu, &set))
			cpus[nr++] = cpu;
	}
	return nr;
}

/* Watches all CPUs, also those without the workload: an empty program sees them too. */
static int watch_all(struct trigger_bpf *skel, uint64_t threshold_ns)
{
	const struct trigger_cpu watched = { .watched = TRIGGER_WATCHED,
					     .threshold_ns = threshold_ns };
	int possible = bpf_map__max_entries(skel->maps.cpus);

	for (int cpu = 0; cpu < possible; cpu++) {
		if (bpf_map_update_elem(bpf_map__fd(skel->maps.cpus), &cpu, &watched, BPF_ANY))
			return -errno;
	}
	return trigger_bpf__attach(skel);
}

static struct trigger_bpf *load_trigger(uint64_t threshold_ns, bool stacks)
{
	struct trigger_bpf *skel = trigger_bpf__open();

	if (!skel)
		goto fail;
	skel->rodata->has_stacks = stacks;
	if (stacks)
		bpf_map__set_max_entries(skel->maps.stacks, TRIGGER_RECENT);
	if (bpf_map__set_max_entries(skel->maps.cpus, libbpf_num_possible_cpus()) ||
	    trigger_bpf__load(skel) || watch_all(skel, threshold_ns))
		goto fail;
	return skel;
fail:
	trigger_bpf__destroy(skel);
	return NULL;
}

static struct empty_bpf *load_empty(void)
{
	struct empty_bpf *skel = empty_bpf__open_and_load();

	if (skel && empty_bpf__attach(skel)) {
		empty_bpf__destroy(skel);
		skel = NULL;
	}
	return skel;
}

static struct cost cost_of(const struct bpf_program *program)
{
	struct cost cost = { .name = bpf_program__name(program) };
	struct bpf_prog_info info = {};
	__u32 size = sizeof(info);

	if (!bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) && info.run_cnt) {
		cost.runs = info.run_cnt;
		cost.ns = (double)info.run_time_ns / (double)info.run_cnt;
	}
	return cost;
}

/* Each expiry while the session is armed is a spike; it nearly always is armed. */
static void take_spikes(struct trigger_bpf *trigger, struct ring_buffer *ring)
{
	struct timespec now, begin;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		__atomic_store_n(&trigger->data_arming->armed, 1, __ATOMIC_RELEASE);
		usleep(PERIOD_US_DEFAULT / 4);
		ring_buffer__consume(ring);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - begin.tv_sec < SECONDS);
}

static int on_record(void *ctx, void *data, size_t size)
{
	return 0;
}

/* expiry_ns: of an expiry that is no spike. */
static int measure_spikes(bool stacks, double expiry_ns)
{
	struct trigger_bpf *trigger = load_trigger(0, stacks);
	struct ring_buffer *ring = NULL;
	struct cost cost;
	uint64_t spikes;
	int ret = 1;

	if (trigger)
		ring = ring_buffer__new(bpf_map__fd(trigger->maps.spikes), on_record, NULL, NULL);
	if (!ring) {
		fprintf(stderr, "cannot load the trigger\n");
		goto out;
	}
	take_spikes(trigger, ring);
	cost = cost_of(trigger->progs.trigger_hrtimer);
	spikes = trigger->bss->sequence;
	ret = !spikes;
	printf("%-20s %10" PRIu64 " %8.0f %14.0f\n", stacks ? "spikes, with stacks" : "spikes",
	       spikes, cost.ns,
	       spikes ? (cost.ns * cost.runs - expiry_ns * (cost.runs - spikes)) / spikes : 0);
out:
	ring_buffer__free(ring);
	trigger_bpf__destroy(trigger);
	return ret;
}

/* Reads in the kernel, or spins in user space, as what the timers interrupt. */
static pid_t start_busy(int cpu, bool kernel)
{
	static char buffer[1 << 20];
	cpu_set_t set;
	pid_t pid = fork();
	int fd;

	if (pid)
		return pid;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	fd = open("/dev/zero", O_RDONLY);
	if (sched_setaffinity(0, sizeof(set), &set) || fd < 0)
		_exit(1);
	alarm(10 * SECONDS);
	for (;;) {
		if (kernel && read(fd, buffer, sizeof(buffer)) < 0)
			_exit(1);
	}
}

/* In short turns: what else runs on the machine disturbs both alike. */
static int measure_turns(const char *what)
{
	double ours[ALONE_TURNS], empty[ALONE_TURNS];

	for (int i = 0; i < ALONE_TURNS; i++) {
		struct empty_bpf *skel = load_empty();
		struct trigger_bpf *trigger;

		if (!skel)
			return 1;
		usleep(ALONE_US);
		empty[i] = cost_of(skel->progs.empty).ns;
		empty_bpf__destroy(skel);
		trigger = load_trigger(THRESHOLD_NS, true);
		if (!trigger)
			return 1;
		usleep(ALONE_US);
		ours[i] = cost_of(trigger->progs.trigger_hrtimer).ns;
		trigger_bpf__destroy(trigger);
		if (!ours[i] || !empty[i])
			return 1;
	}
	printf("alone, on CPUs that %s, medians of %d turns: an empty program %.0f ns, "
	       "ours %.0f ns, ratio %.2f (aim: 1.5)\n",
	       what, ALONE_TURNS, median(empty, ALONE_TURNS), median(ours, ALONE_TURNS),
	       median(ours, ALONE_TURNS) / median(empty, ALONE_TURNS));
	return 0;
}

static void end_busy(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Where a CPU idles between two timers, its caches are cold. */
static int measure_alone(const int *cpus, size_t nr_cpus)
{
	pid_t busy[CPU_SETSIZE];
	int ret = measure_turns("idle");

	for (size_t i = 0; i < nr_cpus; i++)
		busy[i] = start_busy(cpus[i], false);
	ret = ret || measure_turns("spin in user space");
	for (size_t i = 0; i < nr_cpus; i++)
		end_busy(busy[i]);
	return ret;
}

/* One CPU whose timers wake a thread that is watched. */
static int measure_threads(int cpu, bool kernel, bool stacks)
{
	struct trigger_config config = {
		.cpus = &cpu,
		.nr_cpus = 1,
		.thresholds_ns = { [PERF_POKE_TRIGGER_THREAD] = THRESHOLD_NS },
		.stacks = stacks,
	};
	pid_t busy = start_busy(cpu, kernel);
	struct trigger *trigger = NULL;
	struct cost expiry, change;
	int ret = 1;

	if (kallsyms_find("hrtimer_wakeup", &config.threads.hrtimer_wakeup) ||
	    trigger_open(&trigger, &config, &log))
		goto out;
	trigger_arm(trigger);
	sleep(SECONDS / 2);
	expiry = cost_of(trigger->hrtimer);
	change = cost_of(trigger->skel->progs.latency_switch);
	printf("%-20s %10" PRIu64 " %8.0f %10" PRIu64 " %8.0f\n",
	       !stacks	? "without stacks"
	       : kernel ? "in the kernel"
			: "in user space",
	       expiry.runs, expiry.ns, change.runs, change.ns);
	ret = !expiry.runs;
out:
	end_busy(busy);
	trigger_free(trigger);
	return ret;
}

/* An expiry that is no spike */
static int measure_expiries(struct cost *cost)
{
	struct trigger_bpf *trigger = load_trigger(THRESHOLD_NS, true);

	if (!trigger) {
		fprintf(stderr, "cannot load the trigger\n");
		return 1;
	}
	sleep(SECONDS);
	*cost = cost_of(trigger->progs.trigger_hrtimer);
	trigger_bpf__destroy(trigger);
	printf("%-20s %10s %8s %14s\n%-20s %10" PRIu64 " %8.0f\n", "", "runs", "ns/run", "ns/spike",
	       "expiries", cost->runs, cost->ns);
	return !cost->runs;
}

static int measure(const int *cpus, size_t nr_cpus, uint64_t period_us)
{
	struct cyclic *cyclic = NULL;
	struct cost expiry;
	int stats = -1, ret = 1;

	if (cyclic_start(&cyclic, cpus, nr_cpus, period_us * 1000, PRIORITY, NULL, &log))
		goto out;
	stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (stats < 0) {
		fprintf(stderr, "cannot enable BPF statistics: %s\n", strerror(errno));
		goto out;
	}
	if (measure_expiries(&expiry) || measure_spikes(false, expiry.ns) ||
	    measure_spikes(true, expiry.ns))
		goto out;
	printf("%-20s %10s %8s %10s %8s\n", "trigger thread, busy", "expiries", "ns", "switches",
	       "ns");
	ret = measure_threads(cpus[0], false, false) || measure_threads(cpus[0], false, true) ||
	      measure_threads(cpus[0], true, true) || measure_alone(cpus, nr_cpus);
out:
	if (stats >= 0)
		close(stats);
	cyclic_stop(cyclic);
	return ret;
}

int main(int argc, char **argv)
{
	uint64_t period_us = argc > 1 ? strtoull(argv[1], NULL, 10) : PERIOD_US_DEFAULT;
	int cpus[CPU_SETSIZE];
	size_t nr_cpus = my_cpus(cpus, CPU_SETSIZE);

	if (geteuid()) {
		printf("needs root\n");
		return EXIT_SKIP;
	}
	printf("%zu CPUs, a timer every %" PRIu64 " us on each, for %d s\n", nr_cpus, period_us,
	       SECONDS);
	fflush(stdout);
	return measure(cpus, nr_cpus, period_us);
}
