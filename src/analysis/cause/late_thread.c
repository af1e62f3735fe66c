// SPDX-License-Identifier: GPL-2.0-only
#include "cause/late_thread.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "array.h"
#include "clock.h"
#include "kernel_function.h"
#include "text.h"

/* ---- Who ran instead ------------------------------------------------------------------------- */

static int thread_rivals_find(struct schedule_shares *rivals, const struct thread_stays *stays,
			      const struct schedule *schedule)
{
	int err = 0;

	for (size_t i = 0; i < stays->nr && !err; i++) {
		const struct thread_stay *stay = &stays->list[i];

		if (stay->state == THREAD_RUNNABLE)
			err = schedule_share_add(schedule, stay->cpu, stay->begin, stay->end,
						 rivals);
	}
	schedule_shares_sort(rivals);
	return err;
}

/* The main rival's stack where it gave up the CPU, in the form of the stacks of a spike. */
static void copy_rival_stack(struct late_thread *thread, const struct schedule *schedule,
			     const struct thread_namer *namer)
{
	const struct schedule_share *rival = thread->rivals.list;
	struct spike_stack *stack = &thread->rival;
	const struct schedule_event *event;

	if (!thread->rivals.nr || !rival->tid || rival->gave_up == SCHEDULE_NONE)
		return;
	event = &schedule->events[rival->gave_up];
	stack->tid = rival->tid;
	for (uint32_t i = 0; i < event->nr_frames && stack->nr < STACK_FRAMES_MAX; i++) {
		uint64_t address = schedule->frames[event->frames + i];
		struct spike_frame *frame = &stack->frames[stack->nr];
		const char *function = NULL;
		uint32_t name = 0;

		if (address >= KERNEL_FIRST)
			function = tracepoints_function(namer->tracepoints, address);
		else if (!(name = thread_user_function(namer, event, address)))
			return;
		if (!stack->nr && function && kernel_function_find(function, KERNEL_TRIGGER))
			continue;
		frame->user = address < KERNEL_FIRST;
		frame->function = function;
		if (function)
			text_copy_printable(frame->name, sizeof(frame->name), function);
		else if (name)
			text_copy_printable(frame->name, sizeof(frame->name),
					    names_get(namer->names, name));
		else
			snprintf(frame->name, sizeof(frame->name), "[0x%" PRIx64 "]", address);
		stack->nr++;
	}
}

/* ---- The chain of waits ---------------------------------------------------------------------- */

static enum thread_state longest_thread_state(const uint64_t sums[THREAD_STATES])
{
	enum thread_state longest = THREAD_UNKNOWN;

	for (size_t i = 0; i < THREAD_STATES; i++) {
		if (sums[i] > sums[longest])
			longest = (enum thread_state)i;
	}
	return longest;
}

/* What the waker did from the begin of the sleep to its end. Returns 0, -ENOENT if it is not
 * recorded, or -ENOMEM. */
static int thread_link_find(struct thread_link *link, const struct schedule *schedule,
			    const struct thread_wait *wait, const struct thread_namer *namer)
{
	/* It ran when it woke the thread. */
	const struct thread_known known = { .runs_on = true, .cpu = wait->waker.cpu };
	struct thread_stays stays;
	struct thread_wait *waits = NULL;
	struct schedule_shares rivals = { 0 };
	size_t nr = 0;
	int err = schedule_follow_thread(schedule, wait->waker.tid, wait->begin, wait->end, &known,
					 &stays);

	if (err)
		return err;
	*link = (struct thread_link){
		.tid = wait->waker.tid,
		.name = wait->waker.name,
		.begin = wait->begin,
		.end = wait->end,
		.state = longest_thread_state(stays.sums),
	};
	memcpy(link->sums, stays.sums, sizeof(link->sums));
	if (link->state == THREAD_ASLEEP)
		err = thread_waits_find(&waits, &nr, &stays, schedule, namer);
	else if (link->state == THREAD_RUNNABLE)
		err = thread_rivals_find(&rivals, &stays, schedule);
	if (nr)
		link->wait = waits[0];
	if (rivals.nr)
		link->rival = rivals.list[0];
	thread_stays_release(&stays);
	schedule_shares_release(&rivals);
	free(waits);
	if (err)
		return err;
	/* No CPU idles beside a thread in its run queue: then something is not recorded. */
	if (link->state == THREAD_UNKNOWN || (link->state == THREAD_RUNNABLE && !link->rival.tid))
		return -ENOENT;
	return 0;
}

static int thread_chain_find(struct late_thread *thread, const struct schedule *schedule,
			     const struct thread_namer *namer)
{
	const struct thread_wait *wait = thread->nr_waits ? &thread->waits[0] : NULL;

	while (wait && wait->waker.context == WAKE_TASK && wait->waker.tid > 0 &&
	       wait->waker.tid != thread->tid && thread->nr_links < THREAD_LINKS_MAX) {
		struct thread_link *link = &thread->links[thread->nr_links];
		int err;

		for (size_t i = 0; i < thread->nr_links; i++) {
			if (thread->links[i].tid == wait->waker.tid)
				return 0;
		}
		err = thread_link_find(link, schedule, wait, namer);
		if (err)
			return err == -ENOENT ? 0 : err;
		thread->nr_links++;
		wait = link->state == THREAD_ASLEEP ? &link->wait : NULL;
	}
	return 0;
}

/* ---- Why it did not run: limits on CPU time, and priorities ---------------------------------- */

/* Whether real-time threads had a CPU for nearly all of the half period before a time, so that the
 * kernel gave it to others. */
enum hogged { HOGGED_NO, HOGGED_YES, HOGGED_UNKNOWN };

static enum hogged is_cpu_hogged_until(const struct schedule *schedule, int cpu, uint64_t at,
				       const struct scheduling_facts *scheduling)
{
	uint64_t half_ns = scheduling->rt_period_us * NSEC_PER_USEC / 2, real_time_ns = 0;
	struct schedule_shares shares = { 0 };
	uint64_t since = schedule_switches_since(schedule, cpu, at);
	bool whole;
	int err;

	if (!half_ns || (scheduling->rt_runtime_us <= 0 && scheduling->fair_server <= 0))
		return HOGGED_NO;
	if (at < half_ns || since >= at)
		return HOGGED_UNKNOWN;
	whole = since <= at - half_ns;
	since = whole ? at - half_ns : since;
	err = schedule_share_add(schedule, cpu, since, at, &shares);
	for (size_t i = 0; i < shares.nr; i++) {
		if (shares.list[i].tid && shares.list[i].prio < PRIO_FAIR)
			real_time_ns += shares.list[i].time_ns;
	}
	schedule_shares_release(&shares);
	if (err)
		return HOGGED_UNKNOWN;
	if (whole)
		return real_time_ns >= half_ns / 5 * 4 ? HOGGED_YES : HOGGED_NO;
	/* With so much for others, nobody had to be given more. */
	return at - since - real_time_ns >= half_ns / 5 ? HOGGED_NO : HOGGED_UNKNOWN;
}

/* Whether the CPU was given to a thread without real-time priority while this real-time thread was
 * in its run queue. Only throttling and the fair server do that. */
static bool was_passed_over(const struct schedule *schedule, int tid,
			    const struct thread_stay *wait)
{
	bool queued = false;

	for (size_t i = 0; i < schedule->nr && schedule->events[i].time < wait->end; i++) {
		const struct schedule_event *event = &schedule->events[i];
		bool own = event->tid == tid;

		if (event->kind == SCHEDULE_SWITCH && event->cpu == wait->cpu && queued && !own &&
		    event->other != tid && event->other_prio >= PRIO_FAIR &&
		    event->time > wait->begin)
			return true;
		if (own && event->kind == SCHEDULE_WAKEUP)
			queued = event->to_cpu == wait->cpu;
		else if (own && event->kind == SCHEDULE_MIGRATE)
			queued = false;
		else if (own && event->kind == SCHEDULE_SWITCH)
			queued = !event->sleep_state && event->cpu == wait->cpu;
		else if (event->kind == SCHEDULE_SWITCH && event->other == tid)
			queued = false;
	}
	return false;
}

/* Whether the thread alone used up its cgroup's quota in the period before it had to wait. */
static bool has_used_quota(const struct late_thread *thread, const struct schedule *schedule,
			   const struct scheduling_facts *scheduling)
{
	const struct thread_known known = { .cpu = -1, .quota = true };
	uint64_t period_ns = scheduling->quota_period_us * NSEC_PER_USEC;
	uint64_t end = thread->longest.begin, ran_ns;
	struct thread_stays stays;

	if (thread->longest.state != THREAD_RUNNABLE || end < period_ns ||
	    schedule_follow_thread(schedule, thread->tid, end - period_ns, end, &known, &stays))
		return false;
	ran_ns = stays.sums[THREAD_RUNNING];
	thread_stays_release(&stays);
	return ran_ns >= scheduling->quota_us * NSEC_PER_USEC / 5 * 4;
}

static uint64_t rivals_idle_time(const struct schedule_shares *rivals)
{
	for (size_t i = 0; i < rivals->nr; i++) {
		if (!rivals->list[i].tid)
			return rivals->list[i].time_ns;
	}
	return 0;
}

static enum runnable_why late_thread_why(const struct late_thread *thread,
					 const struct schedule *schedule, const struct facts *facts)
{
	const struct scheduling_facts *scheduling = &facts->scheduling;
	uint64_t runnable_ns = thread->stays.sums[THREAD_RUNNABLE];
	const struct schedule_share *rival = thread->rivals.list;
	const struct thread_stay *wait = &thread->longest;
	enum hogged hogged;
	bool throttled = scheduling->quota_us && scheduling->nr_throttled &&
			 scheduling->throttled_us >= runnable_ns / NSEC_PER_USEC / 2;
	int prio = thread->stays.prio;

	/* The scheduler lets no CPU idle beside a thread in its run queue. */
	if (prio >= PRIO_FAIR && throttled &&
	    (rivals_idle_time(&thread->rivals) > runnable_ns / 10 ||
	     has_used_quota(thread, schedule, scheduling)))
		return RUNNABLE_QUOTA;
	if (!thread->rivals.nr || prio == INT_MIN || rival->prio == INT_MIN)
		return RUNNABLE_UNKNOWN;
	if (prio < PRIO_FAIR && (!rival->tid || rival->prio >= PRIO_FAIR)) {
		/* A real-time thread waited for one without real-time priority, or for none. */
		hogged = is_cpu_hogged_until(schedule, wait->cpu, wait->begin, scheduling);
		/* A long wait may have begun before. */
		if (was_passed_over(schedule, thread->tid, wait) ||
		    is_cpu_hogged_until(schedule, wait->cpu, wait->end, scheduling) == HOGGED_YES)
			hogged = HOGGED_YES;
		if (hogged == HOGGED_NO && rival->tid)
			return RUNNABLE_NOT_PREEMPTED;
		if (hogged == HOGGED_YES && scheduling->fair_server > 0 && rival->tid)
			return RUNNABLE_FAIR_SERVER;
		return hogged == HOGGED_YES && scheduling->rt_runtime_us > 0 &&
				       (uint64_t)scheduling->rt_runtime_us <
					       scheduling->rt_period_us
			       ? RUNNABLE_RT_THROTTLING
			       : RUNNABLE_UNKNOWN;
	}
	if (!rival->tid)
		return RUNNABLE_UNKNOWN;
	if (prio >= PRIO_FAIR && rival->prio >= PRIO_FAIR)
		return throttled ? RUNNABLE_MAYBE_QUOTA : RUNNABLE_COMPETITION;
	if (rival->prio == prio)
		return RUNNABLE_COMPETITION;
	return rival->prio < prio ? RUNNABLE_PRIORITY : RUNNABLE_NOT_PREEMPTED;
}

/* ---- The account ----------------------------------------------------------------------------- */

static void late_part_find(struct late_thread *thread, const struct facts *facts)
{
	static const enum thread_part parts[THREAD_STATES] = {
		[THREAD_UNKNOWN] = PART_UNKNOWN,
		[THREAD_RUNNING] = PART_RUNNING,
		[THREAD_RUNNABLE] = PART_RUNNABLE,
		[THREAD_ASLEEP] = PART_ASLEEP,
	};
	uint64_t half_ns = (facts->spike.latency_ns + 1) / 2;
	enum thread_state state = longest_thread_state(thread->stays.sums);
	/* Only if a timer is to wake it. */
	uint64_t irq_ns = facts_is_reported(facts) ? 0 : facts->spike.irq_ns;

	thread->part_ns = thread->stays.sums[state];
	if (irq_ns >= half_ns) {
		thread->part = PART_INTERRUPT;
		thread->part_ns = irq_ns;
	} else if (thread->part_ns >= half_ns) {
		thread->part = parts[state];
	}
	for (size_t i = 0; i < thread->stays.nr; i++) {
		const struct thread_stay *stay = &thread->stays.list[i];

		if (stay->state == state &&
		    stay->end - stay->begin > thread->longest.end - thread->longest.begin)
			thread->longest = *stay;
	}
}

int late_thread_new(struct late_thread **ret, const struct schedule *schedule,
		    const struct facts *facts, const struct thread_namer *namer)
{
	/* A reporter runs; but a span may be reported before its end, by a timer. */
	bool reported = facts_is_reported(facts), recorded = false;
	const struct thread_known known = {
		.waits = !reported,
		.runs_on = reported && facts->spike.stack_tid == late_thread_tid(facts),
		.cpu = reported ? facts->spike.ran_cpu : facts->spike.cpu,
		.quota = facts->scheduling.quota_us,
	};
	struct late_thread *thread;
	int err;

	for (size_t i = 0; i < schedule->nr_cpus; i++)
		recorded |= schedule->cpus[i].switches;
	if (!recorded || !late_thread_tid(facts) || !facts->spike.latency_ns)
		return 0;
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return -ENOMEM;
	thread->tid = late_thread_tid(facts);
	thread->pid = facts->spike.late_pid;
	thread->name = schedule_thread_name(schedule, thread->tid, UINT64_MAX)
			       ?: names_add(namer->names, facts->spike.late_comm);
	err = schedule_follow_thread(schedule, thread->tid, facts->spike.expected_ns,
				     facts->spike.actual_ns, &known, &thread->stays);
	if (!err) {
		late_part_find(thread, facts);
		err = thread_rivals_find(&thread->rivals, &thread->stays, schedule);
	}
	if (!err)
		err = thread_waits_find(&thread->waits, &thread->nr_waits, &thread->stays, schedule,
					namer);
	if (!err)
		err = thread_chain_find(thread, schedule, namer);
	if (err) {
		late_thread_free(thread);
		return err;
	}
	thread->why = late_thread_why(thread, schedule, facts);
	copy_rival_stack(thread, schedule, namer);
	*ret = thread;
	return 0;
}

void late_thread_free(struct late_thread *thread)
{
	if (!thread)
		return;
	thread_stays_release(&thread->stays);
	schedule_shares_release(&thread->rivals);
	free(thread->waits);
	free(thread);
}
