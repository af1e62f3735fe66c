// SPDX-License-Identifier: GPL-2.0-only
#include "normal/expiries.h"

#include <string.h>

#include "array.h"

/* Of armed timers. An overwritten one is unknown when it expires. */
#define SLOTS 1024

struct armed {
	uint64_t address, function;
	uint64_t expected;
	int tid; /* thread that armed it; 0: unknown */
};

struct expired {
	struct armed armed;
	uint64_t at;
};

struct reader {
	struct armed slots[SLOTS];
	struct expired *expired;
	size_t nr;
};

static struct armed *slot_of(struct reader *reader, uint64_t address)
{
	/* Timers are aligned to 8 bytes. */
	return &reader->slots[(address >> 3 ^ address >> 13) % SLOTS];
}

static void on_start(struct reader *reader, const struct tracepoint_event *event,
		     const struct armed *timer)
{
	struct armed *slot = slot_of(reader, timer->address);

	*slot = *timer;
	slot->tid = event->tid > 0 ? event->tid : 0;
	if (!tracepoint_number(event, "expires", &slot->expected))
		slot->expected = 0;
}

static int on_expire(struct reader *reader, const struct tracepoint_event *event,
		     const struct armed *timer)
{
	struct armed *slot = slot_of(reader, timer->address);
	int r = array_grow(&reader->expired, reader->nr, sizeof(*reader->expired));

	if (r)
		return r;
	reader->expired[reader->nr++] = (struct expired){
		slot->address == timer->address ? *slot : *timer,
		event->time,
	};
	return 0;
}

static int take(struct reader *reader, const struct tracepoint_event *event, int cpu)
{
	struct armed timer = {};

	if (strncmp(event->kind->name, "timer:hrtimer_", strlen("timer:hrtimer_")) ||
	    !tracepoint_number(event, "hrtimer", &timer.address) ||
	    !tracepoint_number(event, "function", &timer.function))
		return 0;
	/* Any CPU may start it. */
	if (!strcmp(event->kind->name, "timer:hrtimer_start"))
		on_start(reader, event, &timer);
	else if (event->cpu == cpu && !strcmp(event->kind->name, "timer:hrtimer_expire_entry"))
		return on_expire(reader, event, &timer);
	return 0;
}

/* The late timer may not have expired before the trace stopped. */
static struct armed find_late(struct reader *reader, uint64_t address)
{
	for (size_t i = reader->nr; i--;) {
		if (reader->expired[i].armed.address == address)
			return reader->expired[i].armed;
	}
	return *slot_of(reader, address);
}

static int choose(struct reader *reader, const struct expiries_of *of, struct timer *timer)
{
	const struct armed late = find_late(reader, of->address);

	timer->expiries = calloc(reader->nr + 1, sizeof(*timer->expiries));
	if (!timer->expiries)
		return -ENOMEM;
	for (size_t i = 0; i < reader->nr; i++) {
		const struct armed *armed = &reader->expired[i].armed;
		bool same = armed->address == of->address;

		if (of->sleeps && late.address == of->address && late.tid)
			same = armed->tid == late.tid && armed->function == late.function;
		if (same || of->any)
			timer->expiries[timer->nr++] =
				(struct expiry){ reader->expired[i].at, armed->expected };
	}
	return 0;
}

int expiries_read(struct tracepoints *tracepoints, const struct expiries_of *of,
		  struct timer *timer)
{
	struct reader *reader = calloc(1, sizeof(*reader));
	struct tracepoint_event event;
	int r = 0;

	if (!reader)
		return -ENOMEM;
	while (!r && tracepoints_next(tracepoints, &event))
		r = take(reader, &event, of->cpu);
	if (!r)
		r = choose(reader, of, timer);
	free(reader->expired);
	free(reader);
	return r;
}
