// SPDX-License-Identifier: GPL-2.0-only
/* Why a late thread that wanted to run did not: limits on CPU time, and priorities. */
#include "cause/late_thread.h"

#include <limits.h>

#include "clock.h"

/* Kernel priorities: below this real-time, from it on fair. */
#define PRIO_FAIR 100

/* Whether real-time threads had a CPU for nearly all of the half period before a time, so that the
 * kernel gave it to others. */
enum hogged { HOGGED_NO, HOGGED_YES, HOGGED_UNKNOWN };

static enum hogged is_cpu_hogged_until(const struct schedule *schedule, int cpu, uint64_t at,
				       const struct scheduling_facts *scheduling)
{
	uint64_t half_ns = scheduling->rt_period_us * NSEC_PER_USEC / 2, real_time_ns = 0;
	struct schedule_shares shares = { 0 };
	uint64_t since = schedule_switches_since(schedule, cpu);
	bool whole;
	int r;

	if (!half_ns || (scheduling->rt_runtime_us <= 0 && scheduling->fair_server <= 0))
		return HOGGED_NO;
	if (at < half_ns || since >= at)
		return HOGGED_UNKNOWN;
	whole = since <= at - half_ns;
	since = whole ? at - half_ns : since;
	r = schedule_share_add(schedule, cpu, since, at, &shares);
	for (size_t i = 0; i < shares.nr; i++) {
		if (shares.list[i].tid && shares.list[i].prio < PRIO_FAIR)
			real_time_ns += shares.list[i].time_ns;
	}
	schedule_shares_release(&shares);
	if (r)
		return HOGGED_UNKNOWN;
	if (whole)
		return real_time_ns >= half_ns / 5 * 4 ? HOGGED_YES : HOGGED_NO;
	/* With so much for others, nobody had to be given more. */
	return at - since - real_time_ns >= half_ns / 5 ? HOGGED_NO : HOGGED_UNKNOWN;
}

/* Why a real-time thread did not run while one without real-time priority did, or none. */
static enum runnable_why why_behind_fair_thread(const struct late_thread *thread,
						const struct schedule *schedule,
						const struct scheduling_facts *scheduling)
{
	const struct thread_stay *wait = &thread->longest;
	bool idle = !thread->rivals.list[0].tid;
	enum hogged before = is_cpu_hogged_until(schedule, wait->cpu, wait->begin, scheduling);

	/* A long wait may have begun before. */
	if (before != HOGGED_YES &&
	    is_cpu_hogged_until(schedule, wait->cpu, wait->end, scheduling) == HOGGED_YES)
		before = HOGGED_YES;
	if (before == HOGGED_NO)
		return idle ? RUNNABLE_UNKNOWN : RUNNABLE_NOT_PREEMPTED;
	if (before == HOGGED_UNKNOWN)
		return RUNNABLE_UNKNOWN;
	if (scheduling->fair_server > 0 && !idle)
		return RUNNABLE_FAIR_SERVER;
	return scheduling->rt_runtime_us > 0 ? RUNNABLE_RT_THROTTLING : RUNNABLE_UNKNOWN;
}

static bool may_be_throttled(const struct scheduling_facts *scheduling, uint64_t runnable_ns)
{
	return scheduling->quota_us && scheduling->nr_throttled &&
	       scheduling->throttled_us >= runnable_ns / NSEC_PER_USEC / 2;
}

/* Whether the thread alone used up its cgroup's quota in the period before it had to wait. */
static bool has_used_quota(const struct late_thread *thread, const struct schedule *schedule,
			   const struct scheduling_facts *scheduling)
{
	const struct thread_known known = { .cpu = -1 };
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

enum runnable_why late_thread_why(const struct late_thread *thread, const struct schedule *schedule,
				  const struct facts *facts)
{
	const struct scheduling_facts *scheduling = &facts->scheduling;
	uint64_t runnable_ns = thread->stays.sums[THREAD_RUNNABLE];
	const struct schedule_share *rival = thread->rivals.list;
	bool throttled = may_be_throttled(scheduling, runnable_ns);
	int prio = thread->stays.prio;

	/* The scheduler lets no CPU idle beside a thread in its run queue. */
	if (prio >= PRIO_FAIR && throttled &&
	    (rivals_idle_time(&thread->rivals) > runnable_ns / 10 ||
	     has_used_quota(thread, schedule, scheduling)))
		return RUNNABLE_QUOTA;
	if (!thread->rivals.nr || prio == INT_MIN || rival->prio == INT_MIN)
		return RUNNABLE_UNKNOWN;
	if (prio < PRIO_FAIR && (!rival->tid || rival->prio >= PRIO_FAIR))
		return why_behind_fair_thread(thread, schedule, scheduling);
	if (!rival->tid)
		return RUNNABLE_UNKNOWN;
	if (prio >= PRIO_FAIR && rival->prio >= PRIO_FAIR)
		return throttled ? RUNNABLE_MAYBE_QUOTA : RUNNABLE_COMPETITION;
	if (rival->prio == prio)
		return RUNNABLE_COMPETITION;
	return rival->prio < prio ? RUNNABLE_PRIORITY : RUNNABLE_NOT_PREEMPTED;
}
