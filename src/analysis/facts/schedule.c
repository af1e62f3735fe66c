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
	schedule->cpus[schedule->nr_cpus] = (struct schedule_cpu){
		.cpu = cpu, .since = UINT64_MAX, .current = -1, .previous = -1
	};
	return &schedule->cpus[schedule->nr_cpus++];
}

int schedule_add_gaps(struct schedule *schedule, const struct tracepoints *tracepoints)
{
	size_t nr;
	const struct tracepoint_gap *gaps = tracepoints_gaps(tracepoints, &nr);

	schedule->gaps = calloc(nr + 1, sizeof(*schedule->gaps));
	if (!schedule->gaps)
		return -ENOMEM;
	for (; schedule->nr_gaps < nr; gaps++)
		schedule->gaps[schedule->nr_gaps++] =
			(struct schedule_gap){ gaps->begin, gaps->end, gaps->cpu,
					       tracepoint_is_of_all_cpus(gaps->kind) };
	return 0;
}

/* Since when the events of a CPU are without a gap; UINT64_MAX: they are missing at that time. */
static uint64_t cpu_recorded_since(const struct schedule *schedule, const struct schedule_cpu *cpu,
				   uint64_t at)
{
	uint64_t since = cpu->since;

	for (size_t i = 0; i < schedule->nr_gaps && schedule->gaps[i].begin < at; i++) {
		const struct schedule_gap *gap = &schedule->gaps[i];

		if (gap->cpu == cpu->cpu && !gap->wakeups && gap->end > since)
			since = gap->end;
	}
	return since <= at ? since : UINT64_MAX;
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

/* The kernel reports a switch before it switches. What it does until then is an event of the
 * previous thread: it sends itself an interrupt, for irq_work, or flushes the TLB. */
static bool is_within_switch(const struct schedule_cpu *cpu, const struct tracepoint_event *event)
{
	return event->tid == cpu->previous && (!strcmp(event->kind->name, "ipi:ipi_send_cpu") ||
					       !strcmp(event->kind->name, "tlb:tlb_flush"));
}

/* Some kernels drop the events of the idle task, the switch from it among them. The next event
 * shows who runs instead. */
static int schedule_see(struct schedule *schedule, struct schedule_cpu *cpu,
			const struct tracepoint_event *event)
{
	uint64_t since = cpu_recorded_since(schedule, cpu, event->time);
	const struct schedule_event seen = {
		.time = event->time,
		.kind = SCHEDULE_SEEN,
		.cpu = event->cpu,
		.tid = event->tid,
		.to_cpu = event->cpu,
		.pid = event->pid,
	};
	bool is_new;

	/* Before its own rings begin, and in a gap, too much of a CPU is unknown. */
	if (since == UINT64_MAX)
		return 0;
	/* Who ran before a gap need not run behind it. */
	if (since != cpu->resumed)
		cpu->current = cpu->previous = -1;
	cpu->resumed = since;
	is_new = event->tid >= 0 && event->tid != cpu->current && !is_within_switch(cpu, event);
	if (is_new) {
		cpu->current = event->tid;
		cpu->previous = -1;
	}
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
	struct schedule_event to = {
		.time = event->time,
		.cpu = event->cpu,
		.pid = event->pid,
		.call_argument = event->call_argument,
		.call_ip = event->call_ip,
	};
	struct schedule_cpu *cpu = schedule_cpu_of(schedule, event->cpu);
	size_t row = 0;
	int err;

	if (!cpu)
		return -ENOMEM;
	if (!tracepoint_is_of_all_cpus(event->kind) && event->time < cpu->since)
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
		cpu->previous = to.tid;
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
	free(schedule->gaps);
	*schedule = (struct schedule){ 0 };
}

static int schedule_append_comm(struct schedule *schedule, const struct schedule_comm *comm)
{
	int err = array_grow(&schedule->comms, schedule->nr_comms, sizeof(*comm));

	if (!err)
		schedule->comms[schedule->nr_comms++] = *comm;
	return err;
}

int schedule_add_comms(struct schedule *schedule, struct names *names,
		       const struct tracepoints *tracepoints)
{
	const struct perfdata_file *file = tracepoints_file(tracepoints);
	struct perfdata_events events = { 0 };
	struct perfdata_record record;
	uint64_t at = file->data.offset;
	int err = file->size ? perfdata_events_read(&events, file) : 0, tid;
	const char *known;

	for (size_t i = 0; !err && tracepoints_task(tracepoints, i, &tid, &known); i++)
		err = schedule_append_comm(
			schedule,
			&(struct schedule_comm){ .tid = tid, .name = names_add(names, known) });

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
		err = schedule_append_comm(
			schedule, &(struct schedule_comm){
					  .tid = comm.tid,
					  .name = names_add(names, text_make_printable(comm.comm)),
					  .time = sample.time,
				  });
	}
	perfdata_events_release(&events);
	return err ?: names_error(names);
}

uint64_t schedule_switches_since(const struct schedule *schedule, int cpu, uint64_t at)
{
	for (size_t i = 0; i < schedule->nr_cpus; i++) {
		if (schedule->cpus[i].cpu == cpu && schedule->cpus[i].switches)
			return cpu_recorded_since(schedule, &schedule->cpus[i], at);
	}
	return UINT64_MAX;
}

bool schedule_has_switches(const struct schedule *schedule, int cpu, uint64_t at)
{
	return schedule_switches_since(schedule, cpu, at) != UINT64_MAX;
}

bool schedule_has_gap(const struct schedule *schedule, int cpu, uint64_t begin, uint64_t end)
{
	for (size_t i = 0; i < schedule->nr_gaps; i++) {
		const struct schedule_gap *gap = &schedule->gaps[i];

		if (gap->cpu == cpu && !gap->wakeups && gap->begin < end && gap->end > begin)
			return true;
	}
	return false;
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

/* Who runs on a CPU, since when. */
struct schedule_run {
	int cpu, tid; /* -1: unknown */
	uint64_t since;
};

/* Who ran in a gap is not known. */
static int schedule_share_until_gap(const struct schedule *schedule, struct schedule_shares *shares,
				    struct schedule_run *run, uint64_t until)
{
	int err = 0;

	for (size_t i = 0; i < schedule->nr_gaps && schedule->gaps[i].begin < until && !err; i++) {
		const struct schedule_gap *gap = &schedule->gaps[i];

		if (gap->cpu != run->cpu || gap->wakeups || gap->end <= run->since)
			continue;
		if (gap->begin > run->since)
			err = schedule_share_add_time(shares, run->tid, gap->begin - run->since);
		*run = (struct schedule_run){ run->cpu, -1, gap->end };
	}
	return err;
}

int schedule_share_add(const struct schedule *schedule, int cpu, uint64_t begin, uint64_t end,
		       struct schedule_shares *shares)
{
	struct schedule_run run = { cpu, -1, begin };
	int err = 0;

	if (!schedule_has_switches(schedule, cpu, begin))
		return 0;
	for (size_t i = 0; i < schedule->nr && schedule->events[i].time < end && !err; i++) {
		const struct schedule_event *event = &schedule->events[i];
		bool switches = event->kind == SCHEDULE_SWITCH;

		if (event->cpu != cpu || (!switches && event->kind != SCHEDULE_SEEN))
			continue;
		if (event->time > run.since)
			err = schedule_share_until_gap(schedule, shares, &run, event->time);
		/* How long a task ran whose switch was lost is not known. */
		if (event->time > run.since) {
			err = err
				      ?: schedule_share_add_time(shares,
								 switches ? event->tid : run.tid,
								 event->time - run.since);
			run.since = event->time;
		}
		run.tid = switches ? event->other : event->tid;
	}
	err = err ?: schedule_share_until_gap(schedule, shares, &run, end);
	if (!err && end > run.since)
		err = schedule_share_add_time(shares, run.tid, end - run.since);
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
