// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/clocks.h"

#include <sys/timerfd.h>

#include "clock.h"
#include "units.h"

/* Clocks are not read at the same moment. */
#define JUMP_MIN_NS 1000000
/* A time that does not come: in the year 2242. */
#define NEVER_S (1LL << 33)

static int64_t clocks_ahead(clockid_t clock)
{
	return (int64_t)(clock_ns(clock) - clock_ns(CLOCK_MONOTONIC));
}

void clocks_open(struct clocks *clocks)
{
	const struct itimerspec never = { .it_value.tv_sec = NEVER_S };

	clocks->suspend_ns = clocks_ahead(CLOCK_BOOTTIME);
	clocks->wall_ns = clocks_ahead(CLOCK_REALTIME);
	/* The kernel tells those who wait by this clock when it jumps, also after a suspend. */
	clocks->fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (clocks->fd >= 0 &&
	    timerfd_settime(clocks->fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL))
		closep(&clocks->fd);
}

void clocks_close(struct clocks *clocks)
{
	closep(&clocks->fd);
}

void clocks_read(struct clocks *clocks, const struct log *log)
{
	int64_t suspend_ns, wall_ns, slept_ns, set_ns;
	uint64_t expired;

	if (read(clocks->fd, &expired, sizeof(expired)) >= 0 || errno != ECANCELED)
		return;
	suspend_ns = clocks_ahead(CLOCK_BOOTTIME);
	wall_ns = clocks_ahead(CLOCK_REALTIME);
	slept_ns = suspend_ns - clocks->suspend_ns;
	set_ns = wall_ns - clocks->wall_ns - slept_ns;
	clocks->suspend_ns = suspend_ns;
	clocks->wall_ns = wall_ns;
	if (slept_ns >= JUMP_MIN_NS)
		log_write(log, PERF_POKE_LOG_WARN,
			  "the machine was suspended for %s: timers of CLOCK_BOOTTIME and "
			  "CLOCK_REALTIME may look as late as that",
			  FORMAT_TIME(slept_ns));
	if (set_ns >= JUMP_MIN_NS || set_ns <= -JUMP_MIN_NS)
		log_write(log, PERF_POKE_LOG_WARN,
			  "the time was set %s %s: names of captures follow it, and timers of "
			  "CLOCK_REALTIME may look late",
			  FORMAT_TIME(set_ns < 0 ? -set_ns : set_ns),
			  set_ns < 0 ? "back" : "forward");
}
