// SPDX-License-Identifier: GPL-2.0-only
/* The stays of a thread in a state, from the events of the scheduler. */
#include <limits.h>

#include "array.h"
#include "facts/schedule.h"

/* Follows one thread through the events. */
struct follower {
	const struct schedule *schedule;
	struct thread_stays *stays;
	uint64_t begin, end; /* of interest */
	struct thread_known known;
	struct thread_stay now;
	bool seen; /* an event of the thread */
	/* A CPU whose switches are recorded only since the thread was woken there; -1: none. */
	int woken_before;
};

/* Ends the stay and begins the next. Stays before `begin` are dropped. */
static int follower_change(struct follower *follower, uint64_t at, struct thread_stay next)
{
	struct thread_stays *stays = follower->stays;
	struct thread_stay stay = follower->now;

	stay.begin = stay.begin < follower->begin ? follower->begin : stay.begin;
	stay.end = at > follower->end ? follower->end : at;
	next.begin = at;
	follower->now = next;
	if (stay.end <= stay.begin)
		return 0;
	if (array_grow(&stays->list, stays->nr, sizeof(stay)))
		return -ENOMEM;
	for (size_t i = 0; i < follower->schedule->nr_gaps && stay.state == THREAD_UNKNOWN; i++) {
		const struct schedule_gap *gap = &follower->schedule->gaps[i];

		stay.lost |= gap->begin < stay.end && gap->end > stay.begin;
	}
	stays->list[stays->nr++] = stay;
	stays->sums[stay.state] += stay.end - stay.begin;
	stays->lost_ns += stay.lost ? stay.end - stay.begin : 0;
	return 0;
}

/* The first event of a thread, or the first behind a gap, tells what it was before: as far back as
 * its CPU is recorded. */
static int follower_deduce(struct follower *follower, enum thread_state state, int cpu, uint64_t at)
{
	uint64_t since = schedule_switches_since(follower->schedule, cpu, at);
	struct thread_stay stay = {
		.state = state, .cpu = cpu, .gave_up = SCHEDULE_NONE, .woken = SCHEDULE_NONE
	};

	if (follower->seen || follower->now.state != THREAD_UNKNOWN || since == UINT64_MAX)
		return 0;
	since = since < follower->begin ? follower->begin : since;
	since = since < follower->now.begin ? follower->now.begin : since;
	return follower_change(follower, since, stay);
}

static const struct thread_stay no_stay = { .cpu = -1,
					    .gave_up = SCHEDULE_NONE,
					    .woken = SCHEDULE_NONE };

/* Whether the last that is known of a CPU before an event is that it went idle. */
static bool cpu_was_idle_before(const struct schedule *schedule, int cpu, size_t before)
{
	uint64_t at = before < schedule->nr ? schedule->events[before].time : UINT64_MAX;

	for (size_t i = before; i > 0; i--) {
		const struct schedule_event *event = &schedule->events[i - 1];

		if (event->cpu == cpu && schedule_has_gap(schedule, cpu, event->time, at))
			return false;
		if (event->cpu == cpu && event->kind == SCHEDULE_SWITCH)
			return !event->other;
		if (event->cpu == cpu && event->kind == SCHEDULE_SEEN)
			return false;
	}
	return false;
}

/* The thread runs on a CPU, but nothing shows since when. What kernels lose is the switch from the
 * idle task: then the thread ran at most since shortly before. */
static void follower_lost_switch(struct follower *follower, size_t i, int cpu)
{
	struct thread_stay *now = &follower->now;

	if (now->state == THREAD_ASLEEP ||
	    (now->state == THREAD_RUNNABLE && now->woken == SCHEDULE_NONE && now->cpu == cpu &&
	     cpu_was_idle_before(follower->schedule, cpu, i)))
		now->unsure = true;
	else
		now->state = THREAD_UNKNOWN;
}

static int follower_switched_out(struct follower *follower, size_t i)
{
	const struct schedule_event *event = &follower->schedule->events[i];
	struct thread_stay next = no_stay;
	int err = follower_deduce(follower, THREAD_RUNNING, event->cpu, event->time);

	next.state = event->sleep_state ? THREAD_ASLEEP : THREAD_RUNNABLE;
	next.cpu = event->cpu;
	next.gave_up = i;
	if (follower->now.state != THREAD_RUNNING || follower->now.cpu != event->cpu)
		follower_lost_switch(follower, i, event->cpu);
	follower->stays->prio = event->prio;
	return err ?: follower_change(follower, event->time, next);
}

static bool follower_is_preempted(const struct follower *follower)
{
	return follower->now.state == THREAD_RUNNABLE && follower->now.woken == SCHEDULE_NONE;
}

/* By a switch, or seen to run. A thread that was preempted on one CPU and runs on another one was
 * moved, nobody saw when: it may have run on a CPU that is not recorded. */
static int follower_switched_in(struct follower *follower, size_t i)
{
	const struct schedule_event *event = &follower->schedule->events[i];
	struct thread_stay next = no_stay;
	int err = 0;

	next.state = THREAD_RUNNING;
	next.cpu = event->cpu;
	if (!follower->seen && (follower->known.waits || follower->woken_before == event->cpu))
		err = follower_deduce(follower, THREAD_RUNNABLE, event->cpu, event->time);
	if (follower->now.state == THREAD_RUNNING && follower->now.cpu == event->cpu)
		return err;
	/* The trigger knows that it was to run since then: its wakeup was lost. */
	if (follower->known.waits && follower->now.state == THREAD_ASLEEP &&
	    follower->now.begin < follower->begin && event->time > follower->begin)
		follower->now.state = THREAD_RUNNABLE;
	else if (follower->now.state != THREAD_RUNNABLE || event->kind == SCHEDULE_SEEN ||
		 (follower_is_preempted(follower) && follower->now.cpu != event->cpu))
		follower_lost_switch(follower, i, event->cpu);
	if (event->kind == SCHEDULE_SWITCH)
		follower->stays->prio = event->other_prio;
	return err ?: follower_change(follower, event->time, next);
}

/* Wakeups are recorded since before the switches of their CPU are: what followed is unknown. */
static int follower_woken_unseen(struct follower *follower, size_t i)
{
	if (!follower->seen)
		follower->woken_before = follower->schedule->events[i].to_cpu;
	if (follower->now.state != THREAD_ASLEEP)
		return 0;
	follower->now.woken = i;
	return follower_change(follower, follower->schedule->events[i].time, no_stay);
}

static int follower_woken(struct follower *follower, size_t i)
{
	const struct schedule_event *event = &follower->schedule->events[i];
	struct thread_stay next = no_stay;
	int err;

	if (!schedule_has_switches(follower->schedule, event->to_cpu, event->time))
		return follower_woken_unseen(follower, i);
	err = follower_deduce(follower, THREAD_ASLEEP, event->to_cpu, event->time);
	next.state = THREAD_RUNNABLE;
	next.cpu = event->to_cpu;
	next.woken = i;
	if (!follower->seen)
		follower->stays->prio = event->prio;
	/* The kernel also reports wakeups of a thread that has not gone to sleep yet. */
	if (follower->now.state == THREAD_RUNNABLE && event->kind != SCHEDULE_WAKING)
		follower->now.cpu = event->to_cpu;
	/* It ran since it was woken, and slept: these switches were lost. */
	if (follower->now.state == THREAD_RUNNABLE && event->kind == SCHEDULE_WAKING &&
	    follower->now.woken != SCHEDULE_NONE && follower->now.gave_up == SCHEDULE_NONE) {
		follower->now.state = THREAD_UNKNOWN;
		return err ?: follower_change(follower, event->time, next);
	}
	if (follower->now.state != THREAD_ASLEEP)
		return err;
	follower->now.woken = i;
	return err ?: follower_change(follower, event->time, next);
}

/* Threads migrate while they do not run. What they do on a CPU that is not recorded is unknown. */
static int follower_migrated(struct follower *follower, size_t i)
{
	const struct schedule_event *event = &follower->schedule->events[i];
	bool seen = schedule_has_switches(follower->schedule, event->to_cpu, event->time);
	struct thread_stay next = {
		.state = seen ? THREAD_RUNNABLE : THREAD_UNKNOWN,
		.cpu = event->to_cpu,
		.gave_up = follower->now.gave_up,
		.woken = follower->now.woken,
	};

	if (follower->now.state == THREAD_ASLEEP ||
	    (follower->now.state == THREAD_UNKNOWN && !seen))
		return 0;
	/* It comes from elsewhere. */
	if (follower->now.state == THREAD_RUNNABLE && follower->now.cpu == event->to_cpu)
		follower->now.state = THREAD_UNKNOWN;
	return follower_change(follower, event->time, next);
}

static int follower_event(struct follower *follower, int tid, size_t i)
{
	const struct schedule_event *event = &follower->schedule->events[i];
	bool is_own = event->tid == tid;

	switch (event->kind) {
	case SCHEDULE_SWITCH:
		if (is_own)
			return follower_switched_out(follower, i);
		if (event->other == tid)
			return follower_switched_in(follower, i);
		break;
	case SCHEDULE_SEEN:
		if (is_own)
			return follower_switched_in(follower, i);
		break;
	case SCHEDULE_MIGRATE:
		return is_own ? follower_migrated(follower, i) : 0;
	case SCHEDULE_WAKING:
	case SCHEDULE_WAKEUP:
		return is_own ? follower_woken(follower, i) : 0;
	case SCHEDULE_ARM:
		return 0;
	}
	/* The scheduler lets no CPU idle beside a thread in its run queue. */
	if (event->kind == SCHEDULE_SWITCH && !event->other && event->cpu == follower->now.cpu &&
	    follower_is_preempted(follower) && follower->stays->prio >= PRIO_FAIR &&
	    !follower->known.quota)
		follower->now.state = THREAD_UNKNOWN;
	/* Another thread runs where the thread ran: its switch was lost. */
	if (follower->now.state == THREAD_RUNNING && follower->now.cpu == event->cpu)
		return follower_change(follower, event->time, no_stay);
	return 0;
}

/* What it did in a gap, and does behind it, is unknown until its next event. */
static int follower_gap(struct follower *follower, const struct schedule_gap *gap)
{
	enum thread_state state = follower->now.state;

	if (state == THREAD_UNKNOWN ||
	    (gap->wakeups ? state != THREAD_ASLEEP : follower->now.cpu != gap->cpu))
		return 0;
	follower->seen = false;
	follower->woken_before = -1;
	return follower_change(follower, gap->begin, no_stay);
}

/* Whether an event shows what a thread does from then on. */
static bool shows_thread_state(const struct schedule *schedule, const struct schedule_event *event,
			       int tid)
{
	bool wakes = event->kind == SCHEDULE_WAKING || event->kind == SCHEDULE_WAKEUP;

	if (event->tid == tid)
		return !wakes || schedule_has_switches(schedule, event->to_cpu, event->time);
	return event->kind == SCHEDULE_SWITCH && event->other == tid;
}

int schedule_follow_thread(const struct schedule *schedule, int tid, uint64_t begin, uint64_t end,
			   const struct thread_known *known, struct thread_stays *stays)
{
	struct follower follower = {
		.schedule = schedule,
		.stays = stays,
		.begin = begin,
		.end = end,
		.known = *known,
		.now = no_stay,
		.woken_before = -1,
	};
	size_t i, gap = 0;
	int err = 0;

	*stays = (struct thread_stays){ .prio = INT_MIN };
	for (i = 0; i < schedule->nr && schedule->events[i].time <= end && !err; i++) {
		const struct schedule_event *event = &schedule->events[i];

		while (!err && gap < schedule->nr_gaps && schedule->gaps[gap].begin < event->time)
			err = follower_gap(&follower, &schedule->gaps[gap++]);
		err = err ?: follower_event(&follower, tid, i);
		follower.seen |= shows_thread_state(schedule, event, tid);
	}
	while (!err && gap < schedule->nr_gaps && schedule->gaps[gap].begin < end)
		err = follower_gap(&follower, &schedule->gaps[gap++]);
	if (!err && !follower.seen && known->runs_on)
		err = follower_deduce(&follower, THREAD_RUNNING, known->cpu, end);
	else if (!err && !follower.seen && known->waits)
		err = follower_deduce(&follower, THREAD_RUNNABLE, known->cpu, end);
	if (!err && known->runs_on && follower.now.state != THREAD_RUNNING)
		follower_lost_switch(&follower, i, known->cpu);
	if (!err)
		err = follower_change(&follower, end, no_stay);
	if (err)
		thread_stays_release(stays);
	return err;
}
