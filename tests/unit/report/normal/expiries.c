// SPDX-License-Identifier: GPL-2.0-only
#include "normal/expiries.h"

#include "decode/events/made_tracepoints.h"
#include "test.h"

enum { START = 1, EXPIRE };

#define TIMER MADE_FIELD("void * hrtimer", 8, 8, 0) MADE_FIELD("void * function", 16, 8, 0)
static const struct made_format formats[] = {
	{ "timer:hrtimer_start",
	  MADE_FORMAT("hrtimer_start", 1, TIMER MADE_FIELD("s64 expires", 24, 8, 1), "\"\""), 1 },
	{ "timer:hrtimer_expire_entry", MADE_FORMAT("hrtimer_expire_entry", 2, TIMER, "\"\""), 2 },
};

static struct made_sample event(uint16_t id, uint64_t time, uint32_t tid, uint64_t hrtimer,
				uint64_t expires)
{
	const uint64_t fields[] = { hrtimer, 0xf, expires };

	return made_sample(id, time, tid, fields, sizeof(fields));
}

static void read_expiries(const struct expiries_of *of, struct timer *timer)
{
	/* Thread 7 sleeps twice, each time with its timer elsewhere; another one has a timer. */
	const struct made_sample samples[] = {
		event(EXPIRE, 90, 0, 0x1000, 0),   event(START, 100, 7, 0x1000, 200),
		event(START, 110, 8, 0x5000, 205), event(EXPIRE, 201, 0, 0x1000, 0),
		event(EXPIRE, 206, 0, 0x5000, 0),  event(START, 210, 7, 0x2000, 300),
		event(EXPIRE, 301, 0, 0x2000, 0),
	};
	_cleanup_(tracepoints_freep) struct tracepoints *tracepoints = NULL;

	tracepoints = made_tracepoints_open(folder, formats, 2, samples,
					    sizeof(samples) / sizeof(*samples), "");
	*timer = (struct timer){};
	assert_int_equal(expiries_read(tracepoints, of, timer), 0);
}

TEST_IN_FOLDER(knows_a_timer_by_its_address)
{
	struct timer timer;

	read_expiries(&(struct expiries_of){ .address = 0x1000 }, &timer);
	assert_int_equal(timer.nr, 2);
	assert_int_equal(timer.expiries[0].at, 90);
	assert_int_equal(timer.expiries[0].expected, 0);
	assert_int_equal(timer.expiries[1].at, 201);
	assert_int_equal(timer.expiries[1].expected, 200);
	free(timer.expiries);
}

TEST_IN_FOLDER(knows_a_timer_by_the_thread_that_sleeps)
{
	struct timer timer;

	read_expiries(&(struct expiries_of){ .address = 0x2000, .sleeps = true }, &timer);
	assert_int_equal(timer.nr, 2);
	assert_int_equal(timer.expiries[0].expected, 200);
	assert_int_equal(timer.expiries[1].expected, 300);
	free(timer.expiries);
}

TEST_IN_FOLDER(takes_all_timers_of_the_cpu)
{
	struct timer timer;

	read_expiries(&(struct expiries_of){ .address = 0x9000, .any = true }, &timer);
	assert_int_equal(timer.nr, 4);
	free(timer.expiries);
}

TEST_IN_FOLDER(leaves_out_other_cpus)
{
	struct timer timer;

	read_expiries(&(struct expiries_of){ .cpu = 1, .any = true }, &timer);
	assert_int_equal(timer.nr, 0);
	free(timer.expiries);
}
