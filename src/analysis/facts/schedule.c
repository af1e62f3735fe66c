// SPDX-License-Identifier: GPL-2.0-only
#include "facts/schedule.h"

#include <limits.h>
#include <linux/perf_event.h>
#include <string.h>

#include "array.h"
#include "perfdata_read.h"
#include "text.h"

/* The last bit that sched_switch reports; alone, it means that the thread was preempted. */
#define STATE_PREEMPTED 0x100

static int event_number_of(const struct tracepoint_event *event, const char *field, int unknown)
{
	uint64_t value;

	return tracepoint_number(event, field, &value) ? (int)value : unknown;
}

static uint32_t event_comm_name(const struct tracepoint_event *event, const char *field,
				struct names *names)
{
	char comm[32];

	return tracepoint_text(event, field, comm, sizeof(comm))
		       ? names_add(names, text_make_printable(comm))
		       : 0;
}

static struct schedule_cpu *schedule_cpu_of(struct schedule *schedule, int cpu)
{
	for (size_t i = 0; i < schedule->nr_cpus; i++) {
		if (schedule->cpus[i].cpu == cpu)
			return &schedule->cpus[i];
	}
	if (array_grow(&schedule->cpus, schedule->nr_cpus, sizeof(*schedule->cpus)))
		return NULL;
	schedule->cpus[schedule->nr_cpus] =
		(struct schedule_cpu){ .cpu = cpu, .since = UINT64_MAX, .current = -1 };
	return &schedule->cpus[schedule->nr_cpus++];
}

/* Rings of these events reach further back than those of switches. */
static bool is_of_all_cpus(const struct tracepoint_event *event)
{
	static const char *const names[] = {
		"sched:sched_waking",
		"ipi:",
		"csd:csd_queue",
		"workqueue:workqueue_queue_work",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (has_prefix(event->kind->name, names[i]))
			return true;
	}
	return false;
}

static int schedule_add_stack(struct schedule *schedule, struct schedule_event *to,
			      const struct perfdata_bytes *callchain)
{
	uint64_t at = 0, address;

	to->frames = schedule->nr_frames;
	while (to->nr_frames < SCHEDULE_FRAMES_MAX && tracepoints_frame(callchain, &at, &address)) {
		if (array_grow(&schedule->frames, schedule->nr_frames, sizeof(*schedule->frames)))
			return -ENOMEM;
		schedule->frames[schedule->nr_frames++] = address;
		to->nr_frames++;
	}
	return 0;
}

static void read_switch_event(struct schedule_event *to, struct names *names,
			      const struct tracepoint_event *event)
{
	uint32_t state = (uint32_t)event_number_of(event, "prev_state", 0);

	to->tid = event_number_of(event, "prev_pid", -1);
	to->prio = event_number_of(event, "prev_prio", INT_MIN);
	to->name = event_comm_name(event, "prev_comm", names);
	to->other = event_number_of(event, "next_pid", -1);
	to->other_prio = event_number_of(event, "next_prio", INT_MIN);
	to->other_name = event_comm_name(event, "next_comm", names);
	to->to_cpu = event->cpu;
	to->sleep_state = state & (STATE_PREEMPTED - 1);
}

static void read_wakeup_event(struct schedule_event *to, struct names *names,
			      const struct tracepoint_event *event)
{
	to->tid = event_number_of(event, "pid", -1);
	to->prio = event_number_of(event, "prio", INT_MIN);
	to->name = event_comm_name(event, "comm", names);
	to->other = event->tid;
	to->other_prio = INT_MIN;
	to->to_cpu = event_number_of(event,
				     to->kind == SCHEDULE_MIGRATE ? "dest_cpu" : "target_cpu", -1);
}

static int schedule_append(struct schedule *schedule, const struct schedule_event *event)
{
	if (array_grow(&schedule->events, schedule->nr, sizeof(*event)))
		return -ENOMEM;
	schedule->events[schedule->nr++] = *event;
	return 0;
}

/* Some kernels drop the events of the idle task, the switch from it among them. The next event
 * shows who runs instead. */
static int schedule_see(struct schedule *schedule, struct schedule_cpu *cpu,
			const struct tracepoint_event *event)
{
	const struct schedule_event seen = {
		.time = event->time,
		.kind = SCHEDULE_SEEN,
		.cpu = event->cpu,
		.tid = event->tid,
		.to_cpu = event->cpu,
		.pid = event->pid,
	};
	/* Before its own rings begin, too much of a CPU is unknown. */
	bool is_new = event->tid >= 0 && event->tid != cpu->current && cpu->since <= event->time;

	if (is_new)
		cpu->current = event->tid;
	return is_new ? schedule_append(schedule, &seen) : 0;
}

int schedule_add_event(struct schedule *schedule, struct names *names,
		       const struct tracepoint_event *event)
{
	static const struct {
		const char *name;
		enum schedule_kind kind;
	} rows[] = {
		{ "sched:sched_switch", SCHEDULE_SWITCH },
		{ "sched:sched_waking", SCHEDULE_WAKING },
		{ "sched:sched_wakeup", SCHEDULE_WAKEUP },
		{ "sched:sched_wakeup_new", SCHEDULE_WAKEUP },
		{ "sched:sched_migrate_task", SCHEDULE_MIGRATE },
		{ "timer:hrtimer_start", SCHEDULE_ARM },
	};
	struct schedule_event to = { .time = event->time, .cpu = event->cpu, .pid = event->pid };
	struct schedule_cpu *cpu = schedule_cpu_of(schedule, event->cpu);
	size_t row = 0;
	int err;

	if (!cpu)
		return -ENOMEM;
	if (!is_of_all_cpus(event) && event->time < cpu->since)
		cpu->since = event->time;
	err = schedule_see(schedule, cpu, event);
	while (row < ARRAY_SIZE(rows) && strcmp(event->kind->name, rows[row].name))
		row++;
	if (err || row == ARRAY_SIZE(rows) || !event->kind->format)
		return err;
	to.kind = rows[row].kind;
	if (to.kind == SCHEDULE_SWITCH) {
		read_switch_event(&to, names, event);
		cpu->current = to.other;
		cpu->switches = true;
	} else if (to.kind == SCHEDULE_ARM) {
		to.tid = event->tid;
		to.to_cpu = -1;
		if (!tracepoint_number(event, "softexpires", &to.expires))
			to.expires = 0;
		if (!tracepoint_number(event, "function", &to.function))
			to.function = 0;
	} else {
		read_wakeup_event(&to, names, event);
	}
	err = schedule_add_stack(schedule, &to, &event->callchain);
	return err ?: schedule_append(schedule, &to) ?: names_error(names);
}

void schedule_release(struct schedule *schedule)
{
	free(schedule->events);
	free(schedule->frames);
	free(schedule->cpus);
	free(schedule->comms);
	*schedule = (struct schedule){ 0 };
}

int schedule_add_comms(struct schedule *schedule, struct names *names,
		       const struct perfdata_file *file)
{
	struct perfdata_events events = { 0 };
	struct perfdata_record record;
	uint64_t at = file->data.offset;
	int err = perfdata_events_read(&events, file);

	while (!err && perfdata_next(file, &at, &record)) {
		struct perfdata_sample sample;
		struct comm_record {
			uint8_t header[8];
			int32_t pid, tid;
			char comm[16];
		} comm = { { 0 } };

		if (record.type != PERF_RECORD_COMM ||
		    record.size < sizeof(comm) - sizeof(comm.comm))
			continue;
		if (!perfdata_sample(&events, &record, &sample))
			sample.time = 0;
		memcpy(&comm, record.bytes,
		       record.size < sizeof(comm) ? record.size : sizeof(comm));
		comm.comm[sizeof(comm.comm) - 1] = '\0';
		err = array_grow(&schedule->comms, schedule->nr_comms, sizeof(*schedule->comms));
		if (err)
			break;
		schedule->comms[schedule->nr_comms++] = (struct schedule_comm){
			.tid = comm.tid,
			.name = names_add(names, text_make_printable(comm.comm)),
			.time = sample.time,
		};
	}
	perfdata_events_release(&events);
	return err ?: names_error(names);
}

uint64_t schedule_switches_since(const struct schedule *schedule, int cpu)
{
	for (size_t i = 0; i < schedule->nr_cpus; i++) {
		if (schedule->cpus[i].cpu == cpu && schedule->cpus[i].switches)
			return schedule->cpus[i].since;
	}
	return UINT64_MAX;
}

bool schedule_has_switches(const struct schedule *schedule, int cpu, uint64_t at)
{
	return schedule_switches_since(schedule, cpu) <= at;
}

uint32_t schedule_thread_name(const struct schedule *schedule, int tid, uint64_t at)
{
	uint64_t since = 0;
	uint32_t name = 0;

	/* At equal times, the last one counts. */
	for (size_t i = 0; i < schedule->nr_comms; i++) {
		const struct schedule_comm *comm = &schedule->comms[i];

		if (comm->tid == tid && comm->time <= at && comm->time >= since) {
			name = comm->name;
			since = comm->time;
		}
	}
	for (size_t i = 0; i < schedule->nr && schedule->events[i].time <= at; i++) {
		const struct schedule_event *event = &schedule->events[i];

		if (event->time < since)
			continue;
		if (event->tid == tid && event->name)
			name = event->name;
		else if (event->kind == SCHEDULE_SWITCH && event->other == tid && event->other_name)
			name = event->other_name;
	}
	return name;
}

/* Follows one thread through the events. */
struct follower {
	const struct schedule *schedule;
	struct thread_stays *stays;
	uint64_t begin, end; /* of interest */
	struct thread_known known;
	struct thread_stay now;
	bool seen;	   /* an event of the thread */
	bool woken_before; /* on a CPU whose switches are recorded since later only */
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
	stays->list[stays->nr++] = stay;
	stays->sums[stay.state] += stay.end - stay.begin;
	return 0;
}

/* The first event of a thread tells what it was before: as far back as its CPU is recorded. */
static int follower_deduce(struct follower *follower, enum thread_state state, int cpu)
{
	uint64_t since = schedule_switches_since(follower->schedule, cpu);
	struct thread_stay stay = {
		.state = state, .cpu = cpu, .gave_up = SCHEDULE_NONE, .woken = SCHEDULE_NONE
	};

	if (follower->seen || follower->now.state != THREAD_UNKNOWN || since == UINT64_MAX)
		return 0;
	return follower_change(follower, since < follower->begin ? follower->begin : since, stay);
}

static const struct thread_stay no_stay = { .cpu = -1,
					    .gave_up = SCHEDULE_NONE,
					    .woken = SCHEDULE_NONE };

/* Whether the last that is known of a CPU before an event is that it went idle. */
static bool cpu_was_idle_before(const struct schedule *schedule, int cpu, size_t before)
{
	for (size_t i = before; i > 0; i--) {
		const struct schedule_event *event = &schedule->events[i - 1];

		if (event->cpu == cpu && event->kind == SCHEDULE_SWITCH)
			return !event->other;
		if (event->cpu == cpu && event->kind == SCHEDULE_SEEN)
			return false;
	}
	return false;
}

/* The thread runs, but nothing shows since when. What kernels lose is the switch from the idle
 * task: then the thread ran at most since shortly before. */
static void follower_lost_switch(struct follower *follower, size_t i)
{
	struct thread_stay *now = &follower->now;

	if (now->state == THREAD_ASLEEP ||
	    (now->state == THREAD_RUNNABLE && now->woken == SCHEDULE_NONE &&
	     cpu_was_idle_before(follower->schedule, now->cpu, i)))
		now->unsure = true;
	else
		now->state = THREAD_UNKNOWN;
}

static int follower_switched_out(struct follower *follower, size_t i)
{
	const struct schedule_event *event = &follower->schedule->events[i];
	struct thread_stay next = no_stay;
	int err = follower_deduce(follower, THREAD_RUNNING, event->cpu);

	next.state = event->sleep_state ? THREAD_ASLEEP : THREAD_RUNNABLE;
	next.cpu = event->cpu;
	next.gave_up = i;
	if (follower->now.state != THREAD_RUNNING || follower->now.cpu != event->cpu)
		follower_lost_switch(follower, i);
	follower->stays->prio = event->prio;
	return err ?: follower_change(follower, event->time, next);
}

/* By a switch, or seen to run. */
static int follower_switched_in(struct follower *follower, size_t i)
{
	const struct schedule_event *event = &follower->schedule->events[i];
	struct thread_stay next = no_stay;
	int err = 0;

	next.state = THREAD_RUNNING;
	next.cpu = event->cpu;
	if (!follower->seen && (follower->known.waits || follower->woken_before))
		err = follower_deduce(follower, THREAD_RUNNABLE, event->cpu);
	if (follower->now.state == THREAD_RUNNING && follower->now.cpu == event->cpu)
		return err;
	/* The trigger knows that it was to run since then: its wakeup was lost. */
	if (follower->known.waits && follower->now.state == THREAD_ASLEEP &&
	    follower->now.begin < follower->begin && event->time > follower->begin)
		follower->now.state = THREAD_RUNNABLE;
	else if (follower->now.state != THREAD_RUNNABLE || event->kind == SCHEDULE_SEEN)
		follower_lost_switch(follower, i);
	if (event->kind == SCHEDULE_SWITCH)
		follower->stays->prio = event->other_prio;
	return err ?: follower_change(follower, event->time, next);
}

/* Wakeups are recorded since before the switches of their CPU are: what followed is unknown. */
static int follower_woken_unseen(struct follower *follower, size_t i)
{
	if (!follower->seen)
		follower->woken_before = true;
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
	err = follower_deduce(follower, THREAD_ASLEEP, event->to_cpu);
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
	/* Another thread runs where the thread ran: its switch was lost. */
	if (follower->now.state == THREAD_RUNNING && follower->now.cpu == event->cpu)
		return follower_change(follower, event->time, no_stay);
	return 0;
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
	};
	size_t i;
	int err = 0;

	*stays = (struct thread_stays){ .prio = INT_MIN };
	for (i = 0; i < schedule->nr && schedule->events[i].time <= end && !err; i++) {
		const struct schedule_event *event = &schedule->events[i];

		err = follower_event(&follower, tid, i);
		follower.seen |= shows_thread_state(schedule, event, tid);
	}
	if (!err && !follower.seen && known->runs_on)
		err = follower_deduce(&follower, THREAD_RUNNING, known->cpu);
	else if (!err && !follower.seen && known->waits)
		err = follower_deduce(&follower, THREAD_RUNNABLE, known->cpu);
	if (!err && known->runs_on && follower.now.state != THREAD_RUNNING)
		follower_lost_switch(&follower, i);
	if (!err)
		err = follower_change(&follower, end, no_stay);
	if (err)
		thread_stays_release(stays);
	return err;
}

/* ---- Which tasks ran on a CPU, and how long -----------------------------------------------------
 */

/* tid -1: unknown. */
static int schedule_share_add_time(struct schedule_shares *shares, int tid, uint64_t time_ns)
{
	size_t i = 0;

	if (tid < 0)
		return 0;
	while (i < shares->nr && shares->list[i].tid != tid)
		i++;
	if (i == shares->nr) {
		if (array_grow(&shares->list, shares->nr, sizeof(*shares->list)))
			return -ENOMEM;
		shares->list[shares->nr++] = (struct schedule_share){ .tid = tid,
								      .prio = INT_MIN,
								      .gave_up = SCHEDULE_NONE };
	}
	shares->list[i].time_ns += time_ns;
	return 0;
}

/* Of the tasks that a switch names. */
static void schedule_share_describe(struct schedule_shares *shares,
				    const struct schedule_event *event, size_t i)
{
	for (size_t j = 0; j < shares->nr; j++) {
		struct schedule_share *share = &shares->list[j];

		if (share->tid == event->tid) {
			share->name = event->name;
			share->prio = event->prio;
			share->gave_up = i;
		} else if (share->tid == event->other) {
			share->name = event->other_name;
			share->prio = event->other_prio;
		}
	}
}

int schedule_share_add(const struct schedule *schedule, int cpu, uint64_t begin, uint64_t end,
		       struct schedule_shares *shares)
{
	uint64_t since = begin;
	int current = -1, err = 0;

	if (!schedule_has_switches(schedule, cpu, begin))
		return 0;
	for (size_t i = 0; i < schedule->nr && schedule->events[i].time < end && !err; i++) {
		const struct schedule_event *event = &schedule->events[i];
		bool switches = event->kind == SCHEDULE_SWITCH;

		if (event->cpu != cpu || (!switches && event->kind != SCHEDULE_SEEN))
			continue;
		/* How long a task ran whose switch was lost is not known. */
		if (event->time > since) {
			err = schedule_share_add_time(shares, switches ? event->tid : current,
						      event->time - since);
			since = event->time;
		}
		current = switches ? event->other : event->tid;
	}
	if (!err)
		err = schedule_share_add_time(shares, current, end - since);
	for (size_t i = 0; i < schedule->nr && schedule->events[i].time <= end; i++) {
		if (schedule->events[i].cpu == cpu && schedule->events[i].kind == SCHEDULE_SWITCH)
			schedule_share_describe(shares, &schedule->events[i], i);
	}
	return err;
}

static int compare_shares(const void *a, const void *b)
{
	const struct schedule_share *x = a, *y = b;

	return array_compare(y->time_ns, x->time_ns)
		       ?: array_compare((uint64_t)x->tid, (uint64_t)y->tid);
}

void schedule_shares_sort(struct schedule_shares *shares)
{
	if (shares->nr)
		qsort(shares->list, shares->nr, sizeof(*shares->list), compare_shares);
}
