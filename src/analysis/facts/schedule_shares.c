// SPDX-License-Identifier: GPL-2.0-only
/* Which tasks ran on a CPU, and how long. */
#include "facts/schedule.h"

#include <limits.h>

#include "array.h"

static struct schedule_share *share_of(struct schedule_shares *shares, int tid)
{
	for (size_t i = 0; i < shares->nr; i++) {
		if (shares->list[i].tid == tid)
			return &shares->list[i];
	}
	if (array_grow(&shares->list, shares->nr, sizeof(*shares->list)))
		return NULL;
	shares->list[shares->nr] =
		(struct schedule_share){ .tid = tid, .prio = INT_MIN, .gave_up = SCHEDULE_NONE };
	return &shares->list[shares->nr++];
}

/* tid -1: unknown. */
static int share_add(struct schedule_shares *shares, int tid, uint64_t time_ns)
{
	struct schedule_share *share = tid >= 0 ? share_of(shares, tid) : NULL;

	if (share)
		share->time_ns += time_ns;
	return share || tid < 0 ? 0 : -ENOMEM;
}

/* Of the tasks that a switch names. */
static void share_describe(struct schedule_shares *shares, const struct schedule_event *event,
			   size_t i)
{
	for (size_t j = 0; j < shares->nr; j++) {
		struct schedule_share *share = &shares->list[j];

		if (share->tid == event->tid) {
			share->name = event->name;
			share->prio = event->prio;
			share->gave_up = i;
		} else if (share->tid == event->other) {
			share->name = event->other_name;
			share->prio = event->other_prio;
		}
	}
}

int schedule_share_add(const struct schedule *schedule, int cpu, uint64_t begin, uint64_t end,
		       struct schedule_shares *shares)
{
	uint64_t since = begin;
	int current = -1, r = 0;

	if (!schedule_has(schedule, cpu, begin))
		return 0;
	for (size_t i = 0; i < schedule->nr && schedule->events[i].time < end && !r; i++) {
		const struct schedule_event *event = &schedule->events[i];
		bool switches = event->kind == SCHEDULE_SWITCH;

		if (event->cpu != cpu || (!switches && event->kind != SCHEDULE_SEEN))
			continue;
		/* How long a task ran whose switch was lost is not known. */
		if (event->time > since) {
			r = share_add(shares, switches ? event->tid : current, event->time - since);
			since = event->time;
		}
		current = switches ? event->other : event->tid;
	}
	if (!r)
		r = share_add(shares, current, end - since);
	for (size_t i = 0; i < schedule->nr && schedule->events[i].time <= end; i++) {
		if (schedule->events[i].cpu == cpu && schedule->events[i].kind == SCHEDULE_SWITCH)
			share_describe(shares, &schedule->events[i], i);
	}
	return r;
}

static int compare_shares(const void *a, const void *b)
{
	const struct schedule_share *x = a, *y = b;

	return array_compare(y->time_ns, x->time_ns)
		       ?: array_compare((uint64_t)x->tid, (uint64_t)y->tid);
}

void schedule_shares_sort(struct schedule_shares *shares)
{
	if (shares->nr)
		qsort(shares->list, shares->nr, sizeof(*shares->list), compare_shares);
}
