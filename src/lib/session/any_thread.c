// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Functions that any thread may call. They use no other state of the session. perf_poke__stop()
 * waits until calls in progress have returned. */
#include "session/session.h"

#define LEAVE_PAUSE_US 200

void any_thread_admit(struct any_thread *gate)
{
	__atomic_store_n(&gate->open, true, __ATOMIC_SEQ_CST);
}

void any_thread_close(struct any_thread *gate)
{
	__atomic_store_n(&gate->open, false, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&gate->inside, __ATOMIC_SEQ_CST))
		usleep(LEAVE_PAUSE_US);
}

static void any_thread_leave(struct perf_poke *pp)
{
	__atomic_sub_fetch(&pp->gate.inside, 1, __ATOMIC_SEQ_CST);
}

/* Enter before checking: the closing thread sees at least one of the two. */
static bool any_thread_enter(struct perf_poke *pp)
{
	__atomic_add_fetch(&pp->gate.inside, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&pp->gate.open, __ATOMIC_SEQ_CST))
		return true;
	any_thread_leave(pp);
	return false;
}

int perf_poke__poke(struct perf_poke *pp)
{
	int ret;

	if (!any_thread_enter(pp))
		return -ENOTCONN;
	ret = trigger_poke_now(pp->trigger);
	any_thread_leave(pp);
	return ret;
}

int perf_poke__report(struct perf_poke *pp, const struct perf_poke_report *report)
{
	int ret;

	if (!any_thread_enter(pp))
		return -ENOTCONN;
	ret = pp->reporter.prog_fd < 0 ? -ENXIO : reported_take_latency(&pp->reporter, report);
	any_thread_leave(pp);
	return ret;
}

void session_apply_disarmed(struct perf_poke *pp)
{
	bool disarmed;

	/* What is stored after the last look, its own call applies. */
	do {
		disarmed = __atomic_load_n(&pp->disarmed, __ATOMIC_SEQ_CST);
		trigger_set_disarmed(pp->trigger, disarmed);
	} while (disarmed != __atomic_load_n(&pp->disarmed, __ATOMIC_SEQ_CST));
}

static void session_set_disarmed(struct perf_poke *pp, bool disarmed)
{
	__atomic_store_n(&pp->disarmed, disarmed, __ATOMIC_SEQ_CST);
	if (!any_thread_enter(pp))
		return;
	trigger_set_disarmed(pp->trigger, disarmed);
	any_thread_leave(pp);
}

void perf_poke__arm(struct perf_poke *pp)
{
	session_set_disarmed(pp, false);
}

void perf_poke__disarm(struct perf_poke *pp)
{
	session_set_disarmed(pp, true);
}
