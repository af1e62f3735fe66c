// SPDX-License-Identifier: GPL-2.0-only
/* Calls the judges, and counts interrupts. */
#include "isolation/isolation.h"

#include <stdint.h>
#include <time.h>

#include "cpulist.h"
#include "text.h"

struct interrupt_counts {
	uint64_t timer, all;
};

/* Of the CPU in the column of /proc/interrupts that is headed CPUn: offline CPUs have none. */
static int count_interrupts(const struct isolation *isolation, int cpu,
			    struct interrupt_counts *counts)
{
	_cleanup_close_ int fd =
		openat(isolation->root_fd, "proc/interrupts", O_RDONLY | O_CLOEXEC);
	_cleanup_fclose_ FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	_cleanup_free_ char *line = NULL;
	char wanted[32], *save, *word;
	size_t size = 0, column = 0;
	bool found = false;

	*counts = (struct interrupt_counts){ 0 };
	if (!file)
		return -errno;
	TAKE_FD(fd);
	snprintf(wanted, sizeof(wanted), "CPU%d", cpu);
	if (getline(&line, &size, file) < 0)
		return -EINVAL;
	for (word = strtok_r(line, " \n", &save); word && !found;
	     word = strtok_r(NULL, " \n", &save)) {
		found = !strcmp(word, wanted);
		column += !found;
	}
	while (found && getline(&line, &size, file) > 0) {
		bool timer = has_prefix(line + strspn(line, " "), "LOC:");
		uint64_t value;

		word = strtok_r(line, " \n", &save);
		for (size_t i = 0; word && i <= column; i++)
			word = strtok_r(NULL, " \n", &save);
		value = word ? strtoull(word, NULL, 10) : 0;
		counts->all += value;
		counts->timer += timer ? value : 0;
	}
	return found ? 0 : -ENODEV;
}

/* HZ is at least 100, so fewer interrupts are not those of a tick that runs. */
static void judge_tick(const struct isolation *isolation)
{
	static const char name[] = "tick", file[] = "/proc/interrupts";
	const struct timespec pause = { isolation->interval_ms / 1000,
					isolation->interval_ms % 1000 * 1000000L };
	_cleanup_free_ struct interrupt_counts *before =
		calloc(isolation->nr_cpus, sizeof(*before));
	struct interrupt_counts after;

	for (size_t i = 0; before && i < isolation->nr_cpus; i++) {
		int err = count_interrupts(isolation, isolation->cpus[i], &before[i]);

		if (err) {
			isolation_report_unread(isolation, name, file, err);
			return;
		}
	}
	nanosleep(&pause, NULL);
	for (size_t i = 0; before && i < isolation->nr_cpus; i++) {
		int cpu = isolation->cpus[i];
		uint64_t timer, all;
		bool ticks;

		if (count_interrupts(isolation, cpu, &after))
			continue;
		timer = after.timer - before[i].timer;
		all = after.all - before[i].all;
		ticks = timer * 1000 >= 90ULL * isolation->interval_ms && timer;
		isolation_report(
			isolation,
			ticks ? ISOLATION_BAD
			: all ? ISOLATION_NOTE
			      : ISOLATION_FINE,
			name, file,
			ticks ? "without nohz_full= it runs whenever the CPU is busy; with it, the "
				"tracepoint timer:tick_stop has the reason: several runnable "
				"tasks, "
				"an event of perf by frequency, a POSIX timer, an unstable clock"
			      : "start --trigger interruption=5us names them",
			"CPU %d: %llu interrupts in %u ms, %llu of them timers%s", cpu,
			(unsigned long long)all, isolation->interval_ms, (unsigned long long)timer,
			ticks ? ": the tick runs, or timers at its rate" : "");
	}
}

int isolation_judge(int root_fd, const int *cpus, size_t nr_cpus, unsigned int interval_ms,
		    isolation_fn fn, void *ctx)
{
	_cleanup_free_ char *list = NULL;
	struct isolation isolation = { root_fd, cpus, nr_cpus, NULL, interval_ms, fn, ctx };
	int err = cpulist_format(cpus, nr_cpus, &list);

	if (err)
		return err;
	isolation.list = list;
	isolation_judge_boot(&isolation);
	isolation_judge_tasks(&isolation);
	isolation_judge_irqs(&isolation);
	isolation_judge_workqueues(&isolation);
	isolation_judge_settings(&isolation);
	isolation_judge_hardware(&isolation);
	judge_tick(&isolation);
	return 0;
}
