// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The clock, the timer and the trigger are this test's: they are replaced at link time. */
#include "session/controls.h"

#include <sys/timerfd.h>

#include "clock.h"
#include "test.h"
#include "util.h"

#define INTERVAL_NS (10 * NSEC_PER_SEC)

static uint64_t now_ns, timer_ns;
static bool due;
/* What the trigger wants: -1: nothing. */
static int wanted_cpu;
static enum perf_poke_trigger_kind wanted_kind;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	*now = (struct timespec){ (time_t)(now_ns / NSEC_PER_SEC), (long)(now_ns % NSEC_PER_SEC) };
	return 0;
}

int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *at, struct itimerspec *old)
{
	assert_int_equal(flags, TFD_TIMER_ABSTIME);
	timer_ns = (uint64_t)at->it_value.tv_sec * NSEC_PER_SEC + (uint64_t)at->it_value.tv_nsec;
	return 0;
}

ssize_t __wrap_read(int fd, void *to, size_t size)
{
	bool was_due = due;

	due = false;
	return was_due ? (ssize_t)size : -1;
}

void __wrap_trigger_want_control(struct trigger *trigger, int cpu, enum perf_poke_trigger_kind kind,
				 bool want)
{
	/* Each is withdrawn before the next. */
	assert_true(want ? wanted_cpu < 0 : cpu == wanted_cpu && kind == wanted_kind);
	wanted_cpu = want ? cpu : -1;
	wanted_kind = kind;
}

static struct controls begin(uint64_t nr, struct config *config)
{
	static int cpus[] = { 3, 5 };
	struct controls controls;

	config->cpus = cpus;
	config->nr_cpus = ARRAY_SIZE(cpus);
	config->controls = nr;
	config->control_interval_ns = INTERVAL_NS;
	now_ns = 77 * NSEC_PER_SEC;
	timer_ns = 0;
	due = false;
	wanted_cpu = -1;
	assert_int_equal(controls_start(&controls, config, NULL), 0);
	return controls;
}

/* Lets the time go on until the moment. */
static void pass(struct controls *controls, bool armed)
{
	now_ns = timer_ns;
	due = true;
	controls_poll(controls, armed);
}

TEST(takes_as_many_as_asked_for)
{
	struct config config = { .thresholds[PERF_POKE_TRIGGER_THREAD] = 1000 };
	struct controls controls = begin(2, &config);

	for (uint64_t i = 0; i < 2; i++) {
		assert_in_range(timer_ns, (77 + 10 * i) * NSEC_PER_SEC,
				(87 + 10 * i) * NSEC_PER_SEC - 1);
		controls_poll(&controls, true);
		assert_int_equal(wanted_cpu, -1);
		pass(&controls, true);
		assert_true(wanted_cpu == 3 || wanted_cpu == 5);
		assert_int_equal(wanted_kind, PERF_POKE_TRIGGER_THREAD);
		controls_taken(&controls, true);
		assert_int_equal(wanted_cpu, -1);
		assert_int_equal(controls.left, 1 - i);
		assert_int_equal(controls.pending, i + 1);
	}
	assert_int_equal(timer_ns, 0);
	controls_written(&controls, 0);
	assert_int_equal(timer_ns, 0);
	/* Another one instead of the one that is lost. */
	controls_written(&controls, -ENOSPC);
	assert_true(timer_ns > now_ns);
	assert_int_equal(controls.left, 1);
	assert_int_equal(controls.pending, 0);
	controls_stop(&controls);
}

TEST(a_spike_that_comes_first_changes_the_moment)
{
	struct config config = {};
	struct controls controls = begin(1, &config);
	uint64_t moment_ns;

	/* None was wanted. */
	moment_ns = timer_ns;
	controls_taken(&controls, false);
	assert_int_equal(timer_ns, moment_ns);
	pass(&controls, true);
	assert_int_equal(wanted_kind, PERF_POKE_TRIGGER_IRQ);
	now_ns += 5;
	controls_taken(&controls, false);
	assert_int_equal(wanted_cpu, -1);
	assert_in_range(timer_ns, now_ns, now_ns + INTERVAL_NS - 1);
	assert_int_equal(controls.left, 1);
	controls_stop(&controls);
}

/* Of another CPU or kind, and not while none can be taken. */
TEST(tries_again_if_none_comes)
{
	struct config config = { .thresholds[PERF_POKE_TRIGGER_SPAN] = 1000,
				 .thresholds[PERF_POKE_TRIGGER_EVENT] = 1 };
	struct controls controls = begin(1, &config);
	bool seen[2] = {};

	pass(&controls, false);
	assert_int_equal(wanted_cpu, -1);
	for (int i = 0; i < 100; i++) {
		pass(&controls, true);
		assert_int_equal(wanted_kind, PERF_POKE_TRIGGER_SPAN);
		seen[wanted_cpu == 5] = true;
	}
	assert_true(seen[0] && seen[1]);
	pass(&controls, false);
	assert_int_equal(wanted_cpu, -1);
	controls_stop(&controls);
}

TEST(none_are_asked_for)
{
	struct config config = {};
	struct controls controls = begin(0, &config);

	assert_int_equal(controls.fd, -1);
	controls_poll(&controls, true);
	controls_taken(&controls, false);
	assert_int_equal(wanted_cpu, -1);
}

int main(void)
{
	return run_all(NULL, NULL);
}
