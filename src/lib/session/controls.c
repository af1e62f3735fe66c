// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/controls.h"

#include <sys/random.h>
#include <sys/timerfd.h>

#include "clock.h"
#include "trigger/kinds.h"

/* Kinds with ordinary latencies; without any, timers are used. */
static size_t find_kinds(const struct config *config,
			 enum perf_poke_trigger_kind kinds[TRIGGER_KINDS])
{
	size_t nr = 0;

	for (int kind = 0; kind < TRIGGER_KINDS; kind++) {
		if (config->thresholds[kind] && !trigger_row(kind)->choice.argument)
			kinds[nr++] = kind;
	}
	if (!nr)
		kinds[nr++] = PERF_POKE_TRIGGER_IRQ;
	return nr;
}

/* 0: never. */
static void set_timer(struct controls *controls, uint64_t at_ns)
{
	const struct itimerspec at = {
		.it_value.tv_sec = (time_t)(at_ns / NSEC_PER_SEC),
		.it_value.tv_nsec = (long)(at_ns % NSEC_PER_SEC),
	};

	timerfd_settime(controls->fd, TFD_TIMER_ABSTIME, &at, NULL);
}

static void choose(struct controls *controls)
{
	set_timer(controls,
		  controls->left ? moments_next(&controls->moments, clock_ns(CLOCK_MONOTONIC)) : 0);
}

int controls_start(struct controls *controls, const struct config *config, struct trigger *trigger)
{
	*controls = (struct controls){
		.config = config,
		.trigger = trigger,
		.fd = -1,
		.left = config->controls,
		.moments.interval_ns = config->control_interval_ns,
	};
	if (!config->controls)
		return 0;
	controls->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (controls->fd < 0)
		return -errno;
	/* Without random numbers, use the time. */
	if (getrandom(&controls->moments.state, sizeof(controls->moments.state), GRND_NONBLOCK) < 0)
		controls->moments.state = clock_ns(CLOCK_REALTIME);
	choose(controls);
	return 0;
}

static void withdraw(struct controls *controls)
{
	if (controls->asked)
		trigger_want_control(controls->trigger, controls->cpu, controls->kind, false);
	controls->asked = false;
}

static void ask(struct controls *controls)
{
	const struct config *config = controls->config;
	enum perf_poke_trigger_kind kinds[TRIGGER_KINDS];
	size_t nr_kinds = find_kinds(config, kinds);

	controls->kind = kinds[moments_pick(&controls->moments, nr_kinds)];
	controls->cpu = config->cpus[moments_pick(&controls->moments, config->nr_cpus)];
	controls->asked = true;
	trigger_want_control(controls->trigger, controls->cpu, controls->kind, true);
}

void controls_poll(struct controls *controls, bool armed)
{
	uint64_t expirations;

	if (controls->fd < 0 ||
	    read(controls->fd, &expirations, sizeof(expirations)) != sizeof(expirations))
		return;
	/* There was no such latency since the last moment. */
	withdraw(controls);
	if (armed)
		ask(controls);
	choose(controls);
}

void controls_taken(struct controls *controls, bool control)
{
	bool displaced = controls->asked && !control;

	withdraw(controls);
	controls->left -= control;
	controls->pending += control;
	/* A moment right after a spike is not random: choose another one. */
	if (displaced)
		controls->moments.end_ns = 0;
	if (displaced || !controls->left)
		choose(controls);
}

void controls_written(struct controls *controls, int error)
{
	controls->pending--;
	if (!error)
		return;
	controls->left++;
	choose(controls);
}

void controls_stop(struct controls *controls)
{
	closep(&controls->fd);
}
