// SPDX-License-Identifier: GPL-2.0-only
/* What the CPUs themselves do: their frequency, idle states, siblings, and the clock. */
#include "isolation/isolation.h"

#include <stdint.h>
#include <string.h>

#include "text.h"

#define CPU_FOLDER "sys/devices/system/cpu"
#define CLOCKSOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"
/* Of the exit from an idle state */
#define LATENCY_MAX_US 10

static void judge_governor(const struct isolation *isolation, int cpu)
{
	static const char name[] = "governor";
	char file[128], governor[64];
	int err;

	snprintf(file, sizeof(file), "/" CPU_FOLDER "/cpu%d/cpufreq/scaling_governor", cpu);
	err = isolation_read_text(isolation, governor, sizeof(governor), "%s", file + 1);
	if (err == -ENOENT)
		isolation_report(isolation, ISOLATION_UNKNOWN, name, file, NULL,
				 "CPU %d has no cpufreq driver: firmware or the hypervisor may "
				 "change its frequency",
				 cpu);
	else if (err)
		isolation_report_unread(isolation, name, file, err);
	else if (!strcmp(governor, "performance"))
		isolation_report(isolation, ISOLATION_FINE, name, file, NULL, "CPU %d: performance",
				 cpu);
	else
		isolation_report(isolation, ISOLATION_BAD, name, file,
				 "write performance to this file (cpupower frequency-set)",
				 "CPU %d: %s may lower the frequency", cpu, governor);
}

/* The deepest state that the CPU may use, by what user space has forbidden: states, and latencies
 * (PM QoS). A process that holds /dev/cpu_dma_latency open is not seen. */
static void judge_idle(const struct isolation *isolation, int cpu)
{
	static const char name[] = "idle states";
	char folder[96], state[64] = "", deepest[64] = "", text[64];
	unsigned long max = 0, limit = 0;
	int nr = 0;

	snprintf(folder, sizeof(folder), "/" CPU_FOLDER "/cpu%d/cpuidle", cpu);
	if (!isolation_read_text(isolation, text, sizeof(text),
				 CPU_FOLDER "/cpu%d/power/pm_qos_resume_latency_us", cpu))
		limit = strcmp(text, "n/a") ? strtoul(text, NULL, 10) : 1;
	for (;; nr++) {
		unsigned long latency;

		if (isolation_read_text(isolation, state, sizeof(state), "%s/state%d/name",
					folder + 1, nr) ||
		    isolation_read_text(isolation, text, sizeof(text), "%s/state%d/latency",
					folder + 1, nr))
			break;
		latency = strtoul(text, NULL, 10);
		if (isolation_read_text(isolation, text, sizeof(text), "%s/state%d/disable",
					folder + 1, nr) ||
		    strcmp(text, "0") || latency <= max || (limit && latency > limit))
			continue;
		max = latency;
		snprintf(deepest, sizeof(deepest), "%s", state);
	}
	if (!nr)
		isolation_report(isolation, ISOLATION_UNKNOWN, name, folder, NULL,
				 "CPU %d has no cpuidle driver: how long it takes to leave idle is "
				 "not known",
				 cpu);
	else if (max > LATENCY_MAX_US)
		isolation_report(isolation, ISOLATION_BAD, name, folder,
				 "write 1 to stateN/disable, limit the latency in "
				 "power/pm_qos_resume_latency_us, or hold /dev/cpu_dma_latency "
				 "open, which is not seen here",
				 "CPU %d leaves idle state %s after %lu us", cpu, deepest, max);
	else
		isolation_report(isolation, ISOLATION_FINE, name, folder, NULL,
				 "CPU %d leaves idle within %lu us", cpu, max);
}

static void judge_siblings(const struct isolation *isolation, int cpu)
{
	static const char name[] = "smt";
	struct isolation own = *isolation;
	struct cpu_overlap siblings, judged;
	char file[128], text[256];
	int err;

	snprintf(file, sizeof(file), "/" CPU_FOLDER "/cpu%d/topology/thread_siblings_list", cpu);
	err = isolation_read_text(isolation, text, sizeof(text), "%s", file + 1);
	own.cpus = &cpu;
	own.nr_cpus = 1;
	if (!err)
		err = cpu_overlap_parse(&own, text, CPUS_LIST, &siblings)
			      ?: cpu_overlap_parse(isolation, text, CPUS_LIST, &judged);
	if (err)
		isolation_report_unread(isolation, name, file, err);
	else if (judged.has_others)
		isolation_report(isolation, ISOLATION_BAD, name, file,
				 "isolate the siblings too and leave them idle, or switch them "
				 "off (echo 0 >/" CPU_FOLDER "/cpuN/online, or nosmt)",
				 "CPU %d shares its core: CPUs %s", cpu, text);
	else if (siblings.has_others)
		isolation_report(isolation, ISOLATION_NOTE, name, file, "leave one of them idle",
				 "CPU %d shares its core with others of them: CPUs %s", cpu, text);
	else
		isolation_report(isolation, ISOLATION_FINE, name, file, NULL,
				 "CPU %d has its core alone", cpu);
}

static void judge_clocksource(const struct isolation *isolation)
{
	static const char name[] = "clocksource";
	static const char *const slow[] = { "hpet", "acpi_pm", "jiffies", "pit",
					    "refined-jiffies" };
	char clock[64];
	int err = isolation_read_text(isolation, clock, sizeof(clock), "%s", &CLOCKSOURCE[1]);

	if (err)
		isolation_report_unread(isolation, name, CLOCKSOURCE, err);
	else if (text_is_among(clock, slow, ARRAY_SIZE(slow)))
		isolation_report(isolation, ISOLATION_BAD, name, CLOCKSOURCE,
				 "see in dmesg why TSC was marked unstable; tsc=reliable if the "
				 "machine's is known to be",
				 "%s: each look at the clock takes a microsecond or more", clock);
	else
		isolation_report(isolation, ISOLATION_FINE, name, CLOCKSOURCE, NULL, "%s", clock);
}

void isolation_judge_hardware(const struct isolation *isolation)
{
	for (size_t i = 0; i < isolation->nr_cpus; i++) {
		judge_governor(isolation, isolation->cpus[i]);
		judge_idle(isolation, isolation->cpus[i]);
		judge_siblings(isolation, isolation->cpus[i]);
	}
	judge_clocksource(isolation);
}
