// SPDX-License-Identifier: GPL-2.0-only
#include "facts/arrows.h"

#include <stdio.h>
#include <string.h>

#include "array.h"
#include "cpulist.h"
#include "text.h"

/* The first one is that of the spike. */
#define FLOW_FIRST 2

static int arrows_add(struct arrows *arrows, struct arrow_end from, struct arrow_end to)
{
	from.flow = to.flow = FLOW_FIRST + arrows->nr / 2;
	from.is_begin = true;
	to.is_begin = false;
	if (array_grow(&arrows->ends, arrows->nr, sizeof(from)))
		return -ENOMEM;
	arrows->ends[arrows->nr] = from;
	if (array_grow(&arrows->ends, arrows->nr + 1, sizeof(to)))
		return -ENOMEM;
	arrows->ends[arrows->nr + 1] = to;
	arrows->nr += 2;
	return 0;
}

static struct arrows_cpu *arrows_cpu_of(struct arrows *arrows, int cpu)
{
	struct arrows_cpu **grown;

	if (cpu >= arrows->nr_cpus) {
		grown = reallocarray(arrows->cpus, (size_t)cpu + 1, sizeof(*grown));
		if (!grown)
			return NULL;
		memset(grown + arrows->nr_cpus, 0,
		       (size_t)(cpu + 1 - arrows->nr_cpus) * sizeof(*grown));
		arrows->cpus = grown;
		arrows->nr_cpus = cpu + 1;
	}
	if (!arrows->cpus[cpu])
		arrows->cpus[cpu] = calloc(1, sizeof(*arrows->cpus[cpu]));
	return arrows->cpus[cpu];
}

int arrows_watch_cpu(struct arrows *arrows, int cpu)
{
	if (cpu < 0 || cpu >= CPULIST_MAX_CPUS)
		return 0;
	return arrows_cpu_of(arrows, cpu) ? 0 : -ENOMEM;
}

int arrows_add_interrupt(struct arrows *arrows, int cpu, uint64_t at, const char *function,
			 uint64_t step_ns)
{
	struct senders_want want = { .at = at, .step_ns = step_ns };
	const struct sender *sender;

	if (cpu < 0 || cpu >= arrows->nr_cpus || !arrows->cpus[cpu] ||
	    !sender_kind_of_interrupt(function, &want.kind))
		return 0;
	sender = senders_find(&arrows->cpus[cpu]->senders, &want);
	if (!sender)
		return 0;
	return arrows_add(
		arrows,
		(struct arrow_end){ .at = sender->time, .cpu = sender->cpu, .lane = LANE_TASKS },
		(struct arrow_end){ .at = at > sender->time ? at : sender->time,
				    .cpu = cpu,
				    .lane = LANE_CODE });
}

/* Of interrupts between CPUs, when one begins. */
static int arrows_add_vector(struct arrows *arrows, const struct tracepoint_event *event)
{
	static const char group[] = "irq_vectors:", entry[] = "_entry";
	const char *name = event->kind->name;
	char vector[64];

	if (arrows->by_code || !has_prefix(name, group) || !has_suffix(name, entry))
		return 0;
	snprintf(vector, sizeof(vector), "%.*s",
		 (int)(strlen(name) - strlen(group) - strlen(entry)), name + strlen(group));
	return arrows_add_interrupt(arrows, event->cpu, event->time, vector, 0);
}

int arrows_add_event(struct arrows *arrows, struct names *names, struct tracepoints *tracepoints,
		     const struct tracepoint_event *event)
{
	int err = schedule_add_event(&arrows->schedule, names, event);

	/* The file is untrusted. */
	if (err || event->cpu < 0 || event->cpu >= CPULIST_MAX_CPUS)
		return err;
	if (!arrows_cpu_of(arrows, event->cpu))
		return -ENOMEM;
	for (int i = 0; has_prefix(event->kind->name, "ipi:ipi_send") && i < arrows->nr_cpus; i++) {
		if (arrows->cpus[i])
			senders_add_event(&arrows->cpus[i]->senders, tracepoints, event, i);
	}
	return arrows_add_vector(arrows, event);
}

static int compare_threads(const void *a, const void *b)
{
	const struct schedule_event *x = *(const struct schedule_event *const *)a;
	const struct schedule_event *y = *(const struct schedule_event *const *)b;
	int tid = x->kind == SCHEDULE_SWITCH ? x->other : x->tid;
	int other = y->kind == SCHEDULE_SWITCH ? y->other : y->tid;

	return array_compare((uint64_t)tid, (uint64_t)other) ?: (x > y) - (x < y);
}

/* Each wakeup goes to the next switch to its thread. The waker runs the code of the first event of
 * a wakeup; the second may be on the CPU of the thread. */
static int arrows_add_wakeups(struct arrows *arrows)
{
	const struct schedule *schedule = &arrows->schedule;
	const struct schedule_event *wakeup = NULL, **events;
	size_t nr = 0;
	int err = 0;

	events = calloc(schedule->nr + 1, sizeof(*events));
	if (!events)
		return -ENOMEM;
	for (size_t i = 0; i < schedule->nr; i++) {
		enum schedule_kind kind = schedule->events[i].kind;

		if (kind == SCHEDULE_SWITCH || kind == SCHEDULE_WAKING || kind == SCHEDULE_WAKEUP)
			events[nr++] = &schedule->events[i];
	}
	qsort(events, nr, sizeof(*events), compare_threads);
	for (size_t i = 0; i < nr && !err; i++) {
		const struct schedule_event *event = events[i];

		if (event->kind != SCHEDULE_SWITCH) {
			if (!wakeup || wakeup->tid != event->tid || event->kind == SCHEDULE_WAKING)
				wakeup = event;
			continue;
		}
		if (wakeup && wakeup->tid == event->other)
			err = arrows_add(arrows,
					 (struct arrow_end){ .at = wakeup->time,
							     .cpu = wakeup->cpu,
							     .lane = LANE_TASKS,
							     .is_wakeup = true },
					 (struct arrow_end){ .at = event->time,
							     .cpu = event->cpu,
							     .lane = LANE_TASKS,
							     .is_wakeup = true });
		wakeup = NULL;
	}
	free(events);
	return err;
}

/* By CPU and lane, then by time. */
static int compare_ends(const void *a, const void *b)
{
	const struct arrow_end *x = a, *y = b;

	return array_compare((uint64_t)x->cpu, (uint64_t)y->cpu)
		       ?: array_compare(x->lane, y->lane) ?: array_compare(x->at, y->at)
		       ?: array_compare(x->flow, y->flow);
}

int arrows_finish(struct arrows *arrows,
		  bool (*is_known)(const void *context, const struct arrow_end *end),
		  const void *context)
{
	int err = arrows_add_wakeups(arrows);
	size_t nr = 0;

	if (err)
		return err;
	for (size_t i = 0; i < arrows->nr; i += 2) {
		if (!is_known(context, &arrows->ends[i]) ||
		    !is_known(context, &arrows->ends[i + 1]))
			continue;
		arrows->ends[nr++] = arrows->ends[i];
		arrows->ends[nr++] = arrows->ends[i + 1];
	}
	arrows->nr = nr;
	if (nr)
		qsort(arrows->ends, nr, sizeof(*arrows->ends), compare_ends);
	return 0;
}

void arrows_release(struct arrows *arrows)
{
	for (int i = 0; i < arrows->nr_cpus; i++)
		free(arrows->cpus[i]);
	free(arrows->cpus);
	free(arrows->ends);
	schedule_release(&arrows->schedule);
}
