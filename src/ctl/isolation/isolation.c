// SPDX-License-Identifier: GPL-2.0-only
/* Calls the judges, and counts interrupts. */
#include "isolation/isolation.h"

#include <stdint.h>
#include <string.h>
#include <time.h>

#include "array.h"
#include "cpulist.h"
#include "text.h"

struct interrupt_counts {
	int cpu;
	bool counted; /* an offline CPU has no column */
	uint64_t timer, all;
};

/* NULL: a CPU that is not judged. */
static struct interrupt_counts *counts_of_heading(struct interrupt_counts *counts, size_t nr,
						  const char *heading)
{
	for (size_t i = 0; i < nr; i++) {
		if (has_prefix(heading, "CPU") && atoi(heading + strlen("CPU")) == counts[i].cpu)
			return &counts[i];
	}
	return NULL;
}

/* Adds the numbers of a line to those of the CPUs. */
static void count_line(char *line, struct interrupt_counts **columns, size_t nr_columns)
{
	const bool timer = has_prefix(line + strspn(line, " "), "LOC:");
	char *save, *word = strtok_r(line, " \n", &save);

	for (size_t i = 0; i < nr_columns && word; i++) {
		uint64_t value;

		word = strtok_r(NULL, " \n", &save);
		if (!word || !columns[i])
			continue;
		value = strtoull(word, NULL, 10);
		columns[i]->all += value;
		columns[i]->timer += timer ? value : 0;
	}
}

/* Of all judged CPUs by one look at /proc/interrupts. */
static int count_interrupts(const struct isolation *isolation, struct interrupt_counts *counts)
{
	_cleanup_close_ int fd =
		openat(isolation->root_fd, "proc/interrupts", O_RDONLY | O_CLOEXEC);
	_cleanup_fclose_ FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	_cleanup_free_ struct interrupt_counts **columns = NULL;
	_cleanup_free_ char *line = NULL;
	size_t size = 0, nr_columns = 0;
	char *save;

	if (!file)
		return -errno;
	TAKE_FD(fd);
	if (getline(&line, &size, file) < 0)
		return -EINVAL;
	for (char *word = strtok_r(line, " \n", &save); word; word = strtok_r(NULL, " \n", &save)) {
		if (array_grow(&columns, nr_columns, sizeof(struct interrupt_counts *)))
			return -ENOMEM;
		columns[nr_columns] = counts_of_heading(counts, isolation->nr_cpus, word);
		if (columns[nr_columns])
			columns[nr_columns]->counted = true;
		nr_columns++;
	}
	while (getline(&line, &size, file) > 0)
		count_line(line, columns, nr_columns);
	return 0;
}

static int count_interrupts_anew(const struct isolation *isolation,
				 struct interrupt_counts **counts)
{
	*counts = calloc(isolation->nr_cpus, sizeof(**counts));
	if (!*counts)
		return -ENOMEM;
	for (size_t i = 0; i < isolation->nr_cpus; i++)
		(*counts)[i].cpu = isolation->cpus[i];
	return count_interrupts(isolation, *counts);
}

/* HZ is at least 100, so fewer interrupts are not those of a tick that runs. */
static void judge_tick(const struct isolation *isolation)
{
	static const char name[] = "tick", file[] = "/proc/interrupts";
	const struct timespec pause = { isolation->interval_ms / 1000,
					isolation->interval_ms % 1000 * 1000000L };
	_cleanup_free_ struct interrupt_counts *before = NULL, *after = NULL;
	int err = count_interrupts_anew(isolation, &before);

	if (!err) {
		nanosleep(&pause, NULL);
		err = count_interrupts_anew(isolation, &after);
	}
	if (err) {
		isolation_report_unread(isolation, name, file, err);
		return;
	}
	for (size_t i = 0; i < isolation->nr_cpus; i++) {
		int cpu = isolation->cpus[i];
		uint64_t timer = after[i].timer - before[i].timer;
		uint64_t all = after[i].all - before[i].all;
		bool ticks;

		if (!before[i].counted || !after[i].counted) {
			isolation_report_unread(isolation, name, file, -ENODEV);
			continue;
		}
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
