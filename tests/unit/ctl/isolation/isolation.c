// SPDX-License-Identifier: GPL-2.0-only
/* On made trees of /proc and /sys: a well isolated CPU 1 of two, of which each test spoils some. */
#include "isolation/isolation.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "helpers.h"

#define CPU_FOLDER "sys/devices/system/cpu"
#define FINDINGS_MAX 64

struct findings {
	size_t nr;
	struct finding {
		char name[32], detail[512], remedy[512];
		enum isolation_verdict verdict;
	} list[FINDINGS_MAX];
};

static void put_thread(const char *pid, const char *name, unsigned int flags, const char *cpus)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "proc/%s/task/%s/stat", pid, pid);
	snprintf(text, sizeof(text), "%s (%s) S 1 0 0 0 -1 %u 0\n", pid, name, flags);
	put_file(folder->fd, path, text);
	snprintf(path, sizeof(path), "proc/%s/task/%s/status", pid, pid);
	snprintf(text, sizeof(text), "Name:\t%s\nCpus_allowed:\t1\nCpus_allowed_list:\t%s\n", name,
		 cpus);
	put_file(folder->fd, path, text);
}

static int make_isolated(void **state)
{
	static const char *const files[][2] = {
		{ "proc/cmdline", "quiet isolcpus=nohz,domain,managed_irq,1 nohz_full=1\n" },
		{ "proc/interrupts", "      CPU0  CPU1\nLOC:  7  8  Local timer\n" },
		{ "proc/irq/default_smp_affinity", "1\n" },
		{ "proc/irq/5/eth0/spurious", "" },
		{ "proc/irq/5/smp_affinity", "1\n" },
		{ "proc/irq/5/smp_affinity_list", "0\n" },
		{ "proc/irq/5/effective_affinity_list", "0\n" },
		{ "proc/irq/6/smp_affinity_list", "0-1\n" },
		{ "proc/irq/6/effective_affinity_list", "1\n" },
		{ "proc/sys/kernel/watchdog", "1\n" },
		{ "proc/sys/kernel/nmi_watchdog", "0\n" },
		{ "proc/sys/kernel/watchdog_cpumask", "0\n" },
		{ "proc/sys/kernel/timer_migration", "1\n" },
		{ "proc/sys/kernel/sched_rt_runtime_us", "-1\n" },
		{ "proc/sys/kernel/sched_rt_period_us", "1000000\n" },
		{ "sys/kernel/mm/ksm/run", "0\n" },
		{ "sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n" },
		{ CPU_FOLDER "/online", "0-1\n" },
		{ CPU_FOLDER "/isolated", "1\n" },
		{ CPU_FOLDER "/nohz_full", "1\n" },
		{ CPU_FOLDER "/cpu1/cpufreq/scaling_governor", "performance\n" },
		{ CPU_FOLDER "/cpu1/cpuidle/state0/name", "POLL\n" },
		{ CPU_FOLDER "/cpu1/cpuidle/state0/latency", "0\n" },
		{ CPU_FOLDER "/cpu1/cpuidle/state0/disable", "0\n" },
		{ CPU_FOLDER "/cpu1/cpuidle/state1/name", "C6\n" },
		{ CPU_FOLDER "/cpu1/cpuidle/state1/latency", "133\n" },
		{ CPU_FOLDER "/cpu1/cpuidle/state1/disable", "1\n" },
		{ CPU_FOLDER "/cpu1/topology/thread_siblings_list", "1\n" },
		{ "sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n" },
		{ "sys/devices/virtual/workqueue/cpumask", "00000000,00000001\n" },
		{ "sys/devices/virtual/workqueue/writeback/cpumask", "3\n" },
	};

	if (make_folder(state))
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		put_file(folder->fd, files[i][0], files[i][1]);
	put_thread("2", "kthreadd", 0x00200000, "0");
	put_thread("15", "rcuop/1", 0x00200000, "0");
	put_thread("16", "ksoftirqd/1", 0x04200000, "1");
	put_thread("20", "a) (b", 0, "0");
	put_thread("21", "motion", 0, "1");
	return 0;
}

static void add_finding(void *ctx, const struct isolation_finding *from)
{
	struct findings *findings = ctx;
	struct finding *to = &findings->list[findings->nr++];

	assert_true(findings->nr <= FINDINGS_MAX);
	assert_true(*from->file && *from->detail);
	assert_true(from->verdict != ISOLATION_BAD || *from->remedy);
	snprintf(to->name, sizeof(to->name), "%s", from->name);
	snprintf(to->detail, sizeof(to->detail), "%s", from->detail);
	snprintf(to->remedy, sizeof(to->remedy), "%s", from->remedy);
	to->verdict = from->verdict;
}

/* What was found of CPU 1. */
static struct findings *judge(void)
{
	static struct findings findings;
	const int cpu = 1;

	memset(&findings, 0, sizeof(findings));
	assert_int_equal(isolation_judge(folder->fd, &cpu, 1, 1, add_finding, &findings), 0);
	return &findings;
}

/* Nothing but this may be wrong, or unknown. */
static void assert_only(const char *name, enum isolation_verdict verdict, const char *detail)
{
	const struct findings *findings = judge();
	bool found = false;

	for (size_t i = 0; i < findings->nr; i++) {
		const struct finding *finding = &findings->list[i];

		if (finding->verdict == ISOLATION_FINE)
			continue;
		if (!name || strcmp(finding->name, name))
			fail_msg("%s: %s", finding->name, finding->detail);
		assert_int_equal(finding->verdict, verdict);
		if (!strstr(finding->detail, detail))
			fail_msg("'%s' is not in '%s'", detail, finding->detail);
		found = true;
	}
	assert_true(found || !name);
}

#define TEST_ISOLATED(test) TEST_WITH(test, make_isolated, remove_folder)

/* It replaces the file of the tree. */
#define SPOILED(path, content) put_file(folder->fd, path, content)

TEST_ISOLATED(names_nothing_of_a_well_isolated_cpu)
{
	assert_only(NULL, ISOLATION_FINE, NULL);
}

TEST_ISOLATED(compares_parameters_with_what_the_kernel_did)
{
	SPOILED(CPU_FOLDER "/isolated", "\n");
	assert_only("isolcpus", ISOLATION_BAD, "asks for it, but the kernel has refused");
	SPOILED("proc/cmdline", "isolcpus=nohz,1\n");
	assert_only("isolcpus", ISOLATION_BAD, "isolcpus=nohz,1 lacks domain");
	SPOILED("proc/cmdline", "isolcpus=2-3\n");
	assert_only("isolcpus", ISOLATION_BAD, "isolcpus=2-3 lacks CPU 1");
	SPOILED("proc/cmdline", "quiet -- isolcpus=1\n");
	assert_only("isolcpus", ISOLATION_BAD, "no isolcpus= on the command line");
	/* A partition of cpuset does the same. */
	SPOILED("sys/fs/cgroup/cpuset.cpus.isolated", "1\n");
	assert_only(NULL, ISOLATION_FINE, NULL);
}

TEST_ISOLATED(tells_a_tick_that_stays)
{
	SPOILED(CPU_FOLDER "/nohz_full", "(null)\n");
	assert_only("nohz_full", ISOLATION_BAD, "CPU 1 keeps its tick: nohz_full=1 asks for it");
	assert_int_equal(unlinkat(folder->fd, CPU_FOLDER "/nohz_full", 0), 0);
	assert_only("nohz_full", ISOLATION_BAD, "cannot stop the tick");
	assert_int_equal(unlinkat(folder->fd, CPU_FOLDER "/online", 0), 0);
	assert_only("nohz_full", ISOLATION_UNKNOWN, "cannot be read");
}

TEST_ISOLATED(judges_interrupts_of_devices)
{
	SPOILED("proc/irq/default_smp_affinity", "ffffffff,00000003\n");
	assert_only("irqaffinity", ISOLATION_BAD, "no irqaffinity= on the command line");
	SPOILED("proc/irq/default_smp_affinity", "1\n");
	SPOILED("proc/irq/5/smp_affinity_list", "0-1\n");
	assert_only("irqs", ISOLATION_NOTE, "1 interrupts may move there: 5 (eth0)");
	SPOILED("proc/irq/5/effective_affinity_list", "1\n");
	assert_only("irqs", ISOLATION_BAD, "delivered to CPU 1: 5 (eth0)");
	SPOILED("sys/kernel/debug/irq/irqs/5", "dstate: 0x1\n IRQD_AFFINITY_MANAGED\n");
	assert_only("irqs", ISOLATION_BAD, "5 (eth0, managed)");
	SPOILED("proc/irq/5/effective_affinity_list", "0\n");
	assert_only("irqs", ISOLATION_NOTE, "5 (eth0, managed)");
	/* The queue of that CPU alone. */
	SPOILED("proc/irq/5/smp_affinity_list", "1\n");
	assert_only("irqs", ISOLATION_NOTE, "alone");
	assert_int_equal(unlinkat(folder->fd, "sys/kernel/debug/irq/irqs/5", 0), 0);
	assert_int_equal(fchmodat(folder->fd, "proc/irq/5/smp_affinity", 0444, 0), 0);
	assert_only("irqs", ISOLATION_NOTE, "5 (eth0, managed or bound)");
	/* On the way, until it comes. */
	assert_int_equal(fchmodat(folder->fd, "proc/irq/5/smp_affinity", 0644, 0), 0);
	assert_only("irqs", ISOLATION_BAD, "5 (eth0)");
	assert_int_equal(unlinkat(folder->fd, "proc/irq/5/effective_affinity_list", 0), 0);
	assert_only("irqs", ISOLATION_BAD, "5 (eth0)");
	assert_int_equal(unlinkat(folder->fd, "proc/irq/5/smp_affinity_list", 0), 0);
	assert_only("irqs", ISOLATION_UNKNOWN, "the affinity of 1 interrupts cannot be read");
}

TEST_ISOLATED(judges_work_items)
{
	SPOILED("sys/devices/virtual/workqueue/cpumask", "3\n");
	assert_only("workqueues", ISOLATION_BAD, "allow it: writeback");
	SPOILED("sys/devices/virtual/workqueue/cpumask", "zz\n");
	assert_only("workqueues", ISOLATION_UNKNOWN, "cannot be read");
}

TEST_ISOLATED(judges_threads)
{
	put_thread("22", "cron", 0, "0-1");
	assert_only("tasks", ISOLATION_BAD,
		    "1 threads of user space may run there: cron; 1 are "
		    "pinned there: motion");
	put_thread("22", "cron", 0, "0");
	put_thread("23", "kswapd0", 0x00200000, "0-1");
	assert_only("kthreads", ISOLATION_NOTE, "kswapd0");
	put_thread("23", "kworker/u4:0", 0x04200000, "0-1");
	assert_only(NULL, ISOLATION_FINE, NULL);
	put_thread("15", "rcuop/1", 0x00200000, "0-1");
	assert_only("rcu_nocbs", ISOLATION_BAD, "rcuop/1");
	put_thread("15", "rcuop/0", 0x00200000, "0");
	assert_only("rcu_nocbs", ISOLATION_BAD, "CPU 1 runs RCU's callbacks itself");
}

TEST_ISOLATED(does_not_conclude_from_threads_that_are_hidden)
{
	const struct findings *findings;
	size_t nr_unknown = 0;

	put_thread("2", "init", 0, "0");
	put_thread("15", "sh", 0, "0");
	put_thread("16", "ls", 0, "0");
	findings = judge();
	for (size_t i = 0; i < findings->nr; i++) {
		nr_unknown += findings->list[i].verdict == ISOLATION_UNKNOWN;
		assert_true(findings->list[i].verdict != ISOLATION_BAD);
	}
	/* rcu_nocbs and tasks */
	assert_int_equal(nr_unknown, 2);
}

TEST_ISOLATED(judges_settings)
{
	SPOILED("proc/sys/kernel/watchdog_cpumask", "0-1\n");
	assert_only("watchdog", ISOLATION_BAD, "a timer interrupts CPU 1");
	SPOILED("proc/sys/kernel/nmi_watchdog", "1\n");
	assert_only("watchdog", ISOLATION_BAD, "a timer and an NMI");
	SPOILED("proc/sys/kernel/nmi_watchdog", "0\n");
	SPOILED("proc/sys/kernel/watchdog", "0\n");
	assert_only(NULL, ISOLATION_FINE, NULL);
	SPOILED("proc/sys/kernel/timer_migration", "0\n");
	assert_only("timer_migration", ISOLATION_BAD, "0: timers stay");
	SPOILED("proc/sys/kernel/timer_migration", "1\n");
	SPOILED("proc/sys/kernel/numa_balancing", "1\n");
	assert_only("numa_balancing", ISOLATION_BAD, "page faults");
	SPOILED("proc/sys/kernel/numa_balancing", "0\n");
	SPOILED("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
	assert_only("hugepages", ISOLATION_NOTE, "khugepaged");
	SPOILED("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
	SPOILED("proc/sys/kernel/sched_rt_runtime_us", "950000\n");
	assert_only("rt throttling", ISOLATION_NOTE, "950000 of 1000000 us");
	SPOILED("proc/sys/kernel/sched_rt_runtime_us", "1000000\n");
	assert_only(NULL, ISOLATION_FINE, NULL);
}

TEST_ISOLATED(judges_the_cpu_itself)
{
	SPOILED(CPU_FOLDER "/cpu1/cpufreq/scaling_governor", "powersave\n");
	assert_only("governor", ISOLATION_BAD, "powersave");
	SPOILED(CPU_FOLDER "/cpu1/cpufreq/scaling_governor", "performance\n");
	SPOILED(CPU_FOLDER "/cpu1/cpuidle/state1/disable", "0\n");
	assert_only("idle states", ISOLATION_BAD, "leaves idle state C6 after 133 us");
	SPOILED(CPU_FOLDER "/cpu1/power/pm_qos_resume_latency_us", "20\n");
	assert_only(NULL, ISOLATION_FINE, NULL);
	SPOILED(CPU_FOLDER "/cpu1/topology/thread_siblings_list", "1,3\n");
	assert_only("smt", ISOLATION_BAD, "CPUs 1,3");
	SPOILED(CPU_FOLDER "/cpu1/topology/thread_siblings_list", "1\n");
	SPOILED("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
	assert_only("clocksource", ISOLATION_BAD, "hpet");
}

TEST_ISOLATED(says_what_it_cannot_know)
{
	static const char *const missing[][2] = {
		{ CPU_FOLDER "/cpu1/cpufreq/scaling_governor", "governor" },
		{ CPU_FOLDER "/cpu1/topology/thread_siblings_list", "smt" },
		{ "proc/interrupts", "tick" },
		{ "proc/irq/default_smp_affinity", "irqaffinity" },
		{ "proc/sys/kernel/timer_migration", "timer_migration" },
		{ "proc/sys/kernel/watchdog_cpumask", "watchdog" },
		{ "sys/devices/system/clocksource/clocksource0/current_clocksource",
		  "clocksource" },
		{ "sys/devices/virtual/workqueue/cpumask", "workqueues" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(missing); i++) {
		assert_int_equal(renameat(folder->fd, missing[i][0], folder->fd, "gone"), 0);
		assert_only(missing[i][1], ISOLATION_UNKNOWN, "");
		assert_int_equal(renameat(folder->fd, "gone", folder->fd, missing[i][0]), 0);
	}
}
