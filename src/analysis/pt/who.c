// SPDX-License-Identifier: GPL-2.0-only
#include "pt/who.h"

#include "array.h"

/* Returns whether the task is another one. */
static bool run(struct who *who, size_t nr)
{
	const struct sideband_task *task;

	if (who->next == nr)
		return false;
	who->midway = who->midway && nr == who->next + 1;
	who->next = nr;
	task = &who->tasks[nr - 1];
	if (who->pid == task->pid && who->tid == task->tid)
		return false;
	who->pid = task->pid;
	who->tid = task->tid;
	return true;
}

void who_begin(struct who *who, const struct sideband_task *tasks, size_t nr, uint64_t time)
{
	size_t low = ARRAY_COUNT_BEFORE(nr, i, tasks[i].latest <= time);

	*who = (struct who){ .tasks = tasks, .nr = nr, .pid = -1, .tid = -1 };
	run(who, low);
	who->midway = low < nr && tasks[low].time <= time;
}

bool who_at(struct who *who, uint64_t time)
{
	size_t next = who->next;

	while (next < who->nr && who->tasks[next].latest <= time)
		next++;
	return run(who, next);
}

bool who_in_user(struct who *who, uint64_t time)
{
	size_t next = who->next;

	while (next < who->nr && who->tasks[next].time <= time)
		next++;
	return run(who, next);
}

/* `time` is that of the last packet with time: the branch may be later. */
bool who_switch(struct who *who, uint64_t time, uint64_t until)
{
	bool changed = who_at(who, time);

	who->midway = false;
	if (who->next < who->nr && who->tasks[who->next].time <= until)
		changed |= run(who, who->next + 1);
	return changed;
}
