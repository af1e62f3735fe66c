// SPDX-License-Identifier: GPL-2.0-only
/* Settings of the kernel that interrupt CPUs. */
#include "isolation/isolation.h"

#include <stdlib.h>
#include <string.h>

#define SYSCTL "/proc/sys/kernel/"

/* A setting of one value. */
static const struct setting {
	const char *name, *file;
	const char *good; /* the value, or a word of a list that is chosen so: [never] */
	enum isolation_verdict otherwise;
	bool optional; /* a kernel without the file does not do it */
	const char *fine, *cost, *remedy;
} settings[] = {
	{ "timer_migration", SYSCTL "timer_migration", "1", ISOLATION_BAD, false,
	  "timers of idle CPUs move to busy ones", "timers stay on the CPU that armed them",
	  "sysctl kernel.timer_migration=1" },
	{ "numa_balancing", SYSCTL "numa_balancing", "0", ISOLATION_BAD, true,
	  "pages are not unmapped to see who uses them",
	  "the kernel unmaps pages to see who uses them: page faults and TLB flushes",
	  "sysctl kernel.numa_balancing=0" },
	{ "ksm", "/sys/kernel/mm/ksm/run", "0", ISOLATION_NOTE, true, "no pages are merged",
	  "merging pages flushes the TLB of CPUs whose process has asked for it",
	  "echo 0 >/sys/kernel/mm/ksm/run" },
	{ "hugepages", "/sys/kernel/mm/transparent_hugepage/enabled", "always", ISOLATION_NOTE,
	  true, "khugepaged works only where a process has asked for it",
	  "khugepaged collapses pages of all processes, which flushes the TLB of their CPUs",
	  "echo madvise >/sys/kernel/mm/transparent_hugepage/enabled" },
};

static bool is_good_value(const struct setting *setting, const char *value)
{
	/* Only the word that is chosen counts. */
	if (!strcmp(setting->good, "always"))
		return !strstr(value, "[always]");
	return !strcmp(value, setting->good);
}

static void judge_setting(const struct isolation *isolation, const struct setting *setting)
{
	char value[128];
	int err = isolation_read_text(isolation, value, sizeof(value), "%s", setting->file + 1);

	if (err == -ENOENT && setting->optional &&
	    !faccessat(isolation->root_fd, "proc/sys", F_OK, 0))
		isolation_report(isolation, ISOLATION_FINE, setting->name, setting->file, NULL,
				 "this kernel does not do it");
	else if (err)
		isolation_report_unread(isolation, setting->name, setting->file, err);
	else if (is_good_value(setting, value))
		isolation_report(isolation, ISOLATION_FINE, setting->name, setting->file, NULL,
				 "%s", setting->fine);
	else
		isolation_report(isolation, setting->otherwise, setting->name, setting->file,
				 setting->remedy, "%s: %s", value, setting->cost);
}

/* Both watchdogs look after the CPUs of one mask. */
static void judge_watchdog(const struct isolation *isolation)
{
	static const char name[] = "watchdog", file[] = SYSCTL "watchdog_cpumask";
	char soft[16] = "0", hard[16] = "0";
	int err = isolation_read_text(isolation, soft, sizeof(soft), &(SYSCTL "watchdog")[1]);
	struct cpu_overlap watched;

	if (err) {
		isolation_report_unread(isolation, name, SYSCTL "watchdog", err);
		return;
	}
	isolation_read_text(isolation, hard, sizeof(hard), &(SYSCTL "nmi_watchdog")[1]);
	if (!strcmp(soft, "0") && !strcmp(hard, "0")) {
		isolation_report(isolation, ISOLATION_FINE, name, SYSCTL "watchdog", NULL, "off");
		return;
	}
	err = cpu_overlap_read(isolation, file + 1, CPUS_LIST, &watched);
	if (err)
		isolation_report_unread(isolation, name, file, err);
	else if (watched.nr)
		isolation_report(isolation, ISOLATION_BAD, name, file,
				 "write the other CPUs to this file, or boot with nowatchdog",
				 "a timer%s interrupts CPU %s every few seconds",
				 strcmp(hard, "0") ? " and an NMI" : "", watched.in);
	else
		isolation_report(isolation, ISOLATION_FINE, name, file, NULL,
				 "it watches other CPUs");
}

/* It throttles nothing if the runtime is as long as the period, as on kernels with a deadline
 * server. */
static void judge_rt_throttling(const struct isolation *isolation)
{
	static const char name[] = "rt throttling", file[] = SYSCTL "sched_rt_runtime_us";
	char runtime[32], period[32];
	int err = isolation_read_text(isolation, runtime, sizeof(runtime), "%s", file + 1)
			  ?: isolation_read_text(isolation, period, sizeof(period), "%s",
						 &(SYSCTL "sched_rt_period_us")[1]);

	if (err)
		isolation_report_unread(isolation, name, file, err);
	else if (runtime[0] == '-' || atoll(runtime) >= atoll(period))
		isolation_report(isolation, ISOLATION_FINE, name, file, NULL, "off");
	else
		isolation_report(isolation, ISOLATION_NOTE, name, file,
				 "sysctl kernel.sched_rt_runtime_us=-1, if no thread can lock up "
				 "the CPU",
				 "a real-time thread that does not sleep may run %s of %s us",
				 runtime, period);
}

void isolation_judge_settings(const struct isolation *isolation)
{
	judge_watchdog(isolation);
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		judge_setting(isolation, &settings[i]);
	judge_rt_throttling(isolation);
}
