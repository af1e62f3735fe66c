// SPDX-License-Identifier: GPL-2.0-only
#include "facts/spans.h"

#include <inttypes.h>
#include <string.h>

#include "calls/timeline.h"
#include "kernel_function.h"
#include "text.h"

/* Limit of ended spans kept from before the window. */
#define KEPT_MAX 65536
/* A task whose switch was lost. */
#define UNNAMED "tid %d"

struct reader {
	struct spans *spans;
	struct tracepoints *tracepoints;
	const struct tracepoint_event *event;
	uint64_t last;	/* time of the event before */
	uint64_t since; /* events are known without a gap */
};

/* Drops ended spans. Open ones are linked through their parents. */
static void lane_forget_ended(struct lane *lane)
{
	uint32_t chain[256], nr = 0;

	for (uint32_t i = lane->open; i != SPAN_NONE && nr < ARRAY_SIZE(chain);
	     i = lane->spans[i].parent)
		chain[nr++] = i;
	for (uint32_t i = 0; i < nr; i++) {
		lane->spans[i] = lane->spans[chain[nr - 1 - i]];
		lane->spans[i].parent = i ? i - 1 : SPAN_NONE;
		lane->spans[i].depth = i;
	}
	lane->nr = nr;
	lane->open = nr ? nr - 1 : SPAN_NONE;
}

static bool is_code_span_open(const struct spans *spans, const char *name)
{
	const struct lane *lane = &spans->lanes[LANE_CODE];

	for (uint32_t i = lane->open; i != SPAN_NONE; i = lane->spans[i].parent) {
		if (!strcmp(names_get(spans->names, lane->spans[i].name), name))
			return true;
	}
	return false;
}

/* Also ends nested spans, whose end events were lost. */
static void end_code_span(struct spans *spans, uint64_t at, const char *name)
{
	struct span *span;

	if (!is_code_span_open(spans, name))
		return;
	do {
		span = spans_end(spans, LANE_CODE, at);
	} while (span && strcmp(names_get(spans->names, span->name), name));
}

static int begin_code_span(const struct reader *reader, enum span_kind kind, const char *name)
{
	return spans_begin(reader->spans, LANE_CODE, reader->event->time, kind, name);
}

static int begin_or_end_code(const struct reader *reader, enum span_kind kind, const char *name)
{
	if (has_suffix(reader->event->kind->name, "_entry"))
		return begin_code_span(reader, kind, name);
	end_code_span(reader->spans, reader->event->time, name);
	return 0;
}

/* The event is named after the vector. */
static int read_irq_vector(const struct reader *reader)
{
	const char *name = strchr(reader->event->kind->name, ':') + 1;
	const char *end = strrchr(name, '_');
	char text[64];

	if (!end || (strcmp(end, "_entry") && strcmp(end, "_exit")))
		return 0;
	snprintf(text, sizeof(text), "%.*s", (int)(end - name), name);
	return begin_or_end_code(reader, SPAN_INTERRUPT, text);
}

/* End events have no name: look for the matching begin. */
static int read_irq_handler(const struct reader *reader)
{
	const struct lane *lane = &reader->spans->lanes[LANE_CODE];
	char name[64], text[128], prefix[32];
	uint64_t irq;

	if (!tracepoint_number(reader->event, "irq", &irq))
		return 0;
	snprintf(prefix, sizeof(prefix), "irq %d ", (int)irq);
	if (has_suffix(reader->event->kind->name, "_entry")) {
		tracepoint_text(reader->event, "name", name, sizeof(name));
		snprintf(text, sizeof(text), "%s%s", prefix, text_make_printable(name));
		return begin_code_span(reader, SPAN_INTERRUPT, text);
	}
	for (uint32_t i = lane->open; i != SPAN_NONE; i = lane->spans[i].parent) {
		const char *open = names_get(reader->spans->names, lane->spans[i].name);

		if (!strncmp(open, prefix, strlen(prefix))) {
			end_code_span(reader->spans, reader->event->time, open);
			return 0;
		}
	}
	return 0;
}

/* On arm64 an interrupt from another CPU has the line `IPI`, and is named once it has begun. It is
 * handled as a line is, and ends before that does. */
static int read_cpu_interrupt(const struct reader *reader)
{
	const struct lane *lane = &reader->spans->lanes[LANE_CODE];
	struct span *open = lane->open == SPAN_NONE ? NULL : &lane->spans[lane->open];
	const struct kernel_function *row;
	uint64_t address;
	char reason[64];

	if (!tracepoint_number(reader->event, "reason", &address) ||
	    !tracepoints_string(reader->tracepoints, address, reason, sizeof(reason)))
		return 0;
	row = kernel_function_find(reason, KERNEL_FROM_CPU);
	if (!row)
		return 0;
	if (!has_suffix(reader->event->kind->name, "_entry") || !open ||
	    !has_suffix(names_get(reader->spans->names, open->name), " IPI"))
		return begin_or_end_code(reader, SPAN_INTERRUPT, row->token);
	open->name = names_add(reader->spans->names, row->token);
	return names_error(reader->spans->names);
}

static int read_softirq_event(const struct reader *reader)
{
	/* As in /proc/softirqs. */
	static const char *const names[] = { "HI",	 "TIMER",   "NET_TX", "NET_RX",	 "BLOCK",
					     "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU" };
	char text[32];
	uint64_t vec;

	if (!tracepoint_number(reader->event, "vec", &vec))
		return 0;
	snprintf(text, sizeof(text), "0x%" PRIx64, vec);
	return begin_or_end_code(reader, SPAN_SOFTIRQ, vec < ARRAY_SIZE(names) ? names[vec] : text);
}

/* The function at an address, or the address. `buf` has room for the latter. */
static const char *function_at_address(const struct reader *reader, uint64_t address, char buf[32])
{
	snprintf(buf, 32, "0x%" PRIx64, address);
	return tracepoints_function(reader->tracepoints, address) ?: buf;
}

/* A function that timers or tasklets call. */
static int read_function_call(const struct reader *reader)
{
	const struct lane *lane = &reader->spans->lanes[LANE_CODE];
	uint64_t address;
	char text[32];

	if (has_suffix(reader->event->kind->name, "_entry")) {
		if (!tracepoint_number(reader->event, "function", &address) &&
		    !tracepoint_number(reader->event, "func", &address))
			return begin_code_span(reader, SPAN_FUNCTION, "?");
		return begin_code_span(reader, SPAN_FUNCTION,
				       function_at_address(reader, address, text));
	}
	if (lane->open != SPAN_NONE && lane->spans[lane->open].kind == SPAN_FUNCTION)
		spans_end(reader->spans, LANE_CODE, reader->event->time);
	return 0;
}

/* The function of a work item, which process_one_work() calls. */
static int read_work_item_event(const struct reader *reader)
{
	static const char caller[] = "process_one_work";
	uint64_t address;
	char text[32];
	int err;

	if (has_suffix(reader->event->kind->name, "_end")) {
		end_code_span(reader->spans, reader->event->time, caller);
		return 0;
	}
	if (!tracepoint_number(reader->event, "function", &address))
		return 0;
	err = begin_code_span(reader, SPAN_FUNCTION, caller);
	return err
		       ?: begin_code_span(reader, SPAN_FUNCTION,
					  function_at_address(reader, address, text));
}

/* A function call requested by another CPU. It usually runs in an interrupt; an idle CPU that polls
 * runs it without one. */
static int read_requested_call(const struct reader *reader)
{
	bool within = reader->spans->lanes[LANE_CODE].open != SPAN_NONE;
	uint64_t address;
	char text[32];

	if (!tracepoint_number(reader->event, "func", &address))
		return 0;
	return begin_or_end_code(reader, within ? SPAN_FUNCTION : SPAN_INTERRUPT,
				 function_at_address(reader, address, text));
}

/* Interrupts never continue in another task. */
static void end_all_code_spans(struct spans *spans, uint64_t at)
{
	while (spans_end(spans, LANE_CODE, at))
		;
}

/* Another task runs, because a switch was lost. This event has its time, but no name. perf does not
 * know a task that is exiting (-1). Of interrupts whose ends were lost with the switch, nothing is
 * known after the event before. */
static int follow_running_task(const struct reader *reader, int tid)
{
	struct spans *spans = reader->spans;
	struct lane *tasks = &spans->lanes[LANE_TASKS];
	uint64_t at = tasks->nr ? reader->event->time : reader->since;
	char name[64];

	if ((tasks->nr && tid == spans->tid) || tid < 0)
		return 0;
	spans->tid = tid;
	end_all_code_spans(spans, tasks->nr ? reader->last : at);
	spans_end(spans, LANE_TASKS, at);
	snprintf(name, sizeof(name), tid > 0 ? UNNAMED : "swapper/%d",
		 tid > 0 ? tid : reader->event->cpu);
	return spans_begin(spans, LANE_TASKS, at, tid > 0 ? SPAN_THREAD : SPAN_IDLE, name);
}

/* Names the running task. */
static void name_running_task(const struct reader *reader, int tid, const char *field)
{
	struct spans *spans = reader->spans;
	struct lane *tasks = &spans->lanes[LANE_TASKS];
	char comm[32], text[64];

	if (tid <= 0 || tasks->open == SPAN_NONE ||
	    !tracepoint_text(reader->event, field, comm, sizeof(comm)))
		return;
	snprintf(text, sizeof(text), "%s %d", text_make_printable(comm), tid);
	tasks->spans[tasks->open].name = names_add(spans->names, text);
}

static int read_task_switch(const struct reader *reader)
{
	struct spans *spans = reader->spans;
	uint64_t next;
	int err;

	if (!tracepoint_number(reader->event, "next_pid", &next))
		return 0;
	name_running_task(reader, reader->event->tid, "prev_comm");
	end_all_code_spans(spans, reader->event->time);
	err = follow_running_task(reader, (int)next);
	if (!err)
		name_running_task(reader, (int)next, "next_comm");
	return err ?: names_error(spans->names);
}

/* Idle states (-1: left) and frequencies, of any CPU. */
static int read_power_event(const struct reader *reader)
{
	struct power *power = &reader->spans->power;
	uint64_t state, cpu;

	if (!tracepoint_number(reader->event, "state", &state) ||
	    !tracepoint_number(reader->event, "cpu_id", &cpu) || (int)cpu != reader->event->cpu)
		return 0;
	if (has_suffix(reader->event->kind->name, "_frequency")) {
		power->frequency_khz = state;
	} else if ((uint32_t)state == UINT32_MAX) {
		power->left = reader->event->time;
	} else {
		power->state = state;
		power->entered = reader->event->time;
		power->left = 0;
	}
	return 0;
}

/* Since Linux 7.1, a timer interrupt may leave it to the end of the next switch of tasks to set the
 * clock device for the next timer. */
static int read_timer_arming(const struct reader *reader)
{
	struct arming *arming = &reader->spans->arming;
	uint64_t value;

	if (arming->tid && reader->event->tid == arming->tid &&
	    tracepoint_number(reader->event, "softexpires", &value))
		arming->due = value;
	if (!arming->timer || reader->event->time > arming->until)
		return 0;
	if (has_suffix(reader->event->kind->name, "_rearm")) {
		if (tracepoint_number(reader->event, "deferred", &value) && value)
			arming->rearmed = reader->event->time;
	} else if (tracepoint_number(reader->event, "hrtimer", &value) && value == arming->timer) {
		arming->at = reader->event->time;
	}
	return 0;
}

/* To perf, the kernel refuses irq_work_exit: whatever comes next, it has ended, or is about to. */
static void end_irq_work(const struct reader *reader)
{
	const struct lane *lane = &reader->spans->lanes[LANE_CODE];

	if (lane->open != SPAN_NONE &&
	    !strcmp(names_get(reader->spans->names, lane->spans[lane->open].name), "irq_work"))
		spans_end(reader->spans, LANE_CODE, reader->event->time);
}

int events_spans_name_tasks(struct spans *spans, const struct schedule *schedule,
			    const struct perf_poke_spike *spike)
{
	struct lane *tasks = &spans->lanes[LANE_TASKS];

	for (uint32_t i = 0; i < tasks->nr; i++) {
		const char *name = names_get(spans->names, tasks->spans[i].name);
		char comm[32] = "", text[64];
		uint32_t found;
		int tid;

		if (sscanf(name, UNNAMED, &tid) != 1)
			continue;
		found = schedule_thread_name(schedule, tid, UINT64_MAX);
		if (found)
			snprintf(comm, sizeof(comm), "%s", names_get(spans->names, found));
		else if (tid == spike->tid)
			text_copy_printable(comm, sizeof(comm), spike->comm);
		else if (tid == spike->late_tid)
			text_copy_printable(comm, sizeof(comm), spike->late_comm);
		if (!comm[0])
			continue;
		snprintf(text, sizeof(text), "%s %d", comm, tid);
		tasks->spans[i].name = names_add(spans->names, text);
	}
	return names_error(spans->names);
}

static int read_tracepoint_event(const struct reader *reader)
{
	static const struct {
		const char *prefix;
		int (*take)(const struct reader *reader);
	} table[] = {
		{ "irq_vectors:", read_irq_vector },
		{ "irq:irq_handler_", read_irq_handler },
		{ "ipi:ipi_e", read_cpu_interrupt },
		{ "irq:softirq_e", read_softirq_event },
		{ "irq:tasklet_e", read_function_call },
		{ "timer:hrtimer_expire_", read_function_call },
		{ "timer:hrtimer_start", read_timer_arming },
		{ "timer:hrtimer_rearm", read_timer_arming },
		{ "timer:timer_expire_", read_function_call },
		{ "sched:sched_switch", read_task_switch },
		{ "power:cpu_", read_power_event },
		{ "csd:csd_function_e", read_requested_call },
		{ "workqueue:workqueue_execute_", read_work_item_event },
	};
	const char *name = reader->event->kind->name;
	int err = 0;

	/* Other samples have the IDs of a PID namespace, which need not be those of tracepoints. */
	if (reader->event->kind->format || !tracepoints_have_fields(reader->tracepoints))
		err = follow_running_task(reader, reader->event->tid);

	end_irq_work(reader);
	for (size_t i = 0; i < ARRAY_SIZE(table) && !err; i++) {
		if (!strncmp(name, table[i].prefix, strlen(table[i].prefix)))
			return table[i].take(reader);
	}
	return err;
}

void events_spans_note(struct spans *spans, struct tracepoints *tracepoints,
		       const struct tracepoint_event *event)
{
	const struct reader reader = { spans, tracepoints, event, 0 };

	if (has_prefix(event->kind->name, "power:cpu_"))
		read_power_event(&reader);
	else if (has_prefix(event->kind->name, "timer:hrtimer_start") ||
		 has_prefix(event->kind->name, "timer:hrtimer_rearm"))
		read_timer_arming(&reader);
}

static void forget_ended_spans(struct spans *spans, uint64_t kept_max)
{
	for (size_t i = 0; i < LANE_NR; i++) {
		if (spans->lanes[i].nr > kept_max)
			lane_forget_ended(&spans->lanes[i]);
	}
}

/* Only spans open at the start belong to the window. */
static void begin_window(struct spans *spans, uint64_t begin)
{
	forget_ended_spans(spans, 0);
	if (spans->begin < begin)
		spans->begin = begin;
}

/* What ran in a gap, and which interrupts it had, is not known. */
static int events_spans_add_gaps(struct events_spans *to, int cpu, uint64_t until)
{
	struct spans *spans = to->spans;
	size_t nr;
	const struct tracepoint_gap *gaps = tracepoints_gaps(to->tracepoints, &nr);
	int err = 0;

	for (; to->next_gap < nr && gaps[to->next_gap].end <= until && !err; to->next_gap++) {
		const struct tracepoint_gap *gap = &gaps[to->next_gap];

		uint64_t begin = gap->begin > spans->begin ? gap->begin : spans->begin;

		if (gap->cpu != cpu || tracepoint_is_of_all_cpus(gap->kind) || gap->end <= begin)
			continue;
		end_all_code_spans(spans, begin);
		spans_end(spans, LANE_TASKS, begin);
		spans->tid = -1;
		to->resumed = gap->end;
		err = spans_begin(spans, LANE_GAPS, begin, SPAN_LOST, TRACK_LOST);
		if (!err)
			spans_end(spans, LANE_GAPS, gap->end);
	}
	return err;
}

int events_spans_add_event(struct events_spans *to, const struct tracepoint_event *event)
{
	struct reader reader = { to->spans, to->tracepoints, event, to->last, 0 };
	int err;

	if (!to->any)
		to->spans->begin = event->time;
	if (to->last < to->begin && event->time >= to->begin)
		begin_window(to->spans, to->begin);
	err = events_spans_add_gaps(to, event->cpu, event->time);
	to->any = true;
	to->last = event->time;
	reader.since = to->resumed > to->spans->begin ? to->resumed : to->spans->begin;
	err = err ?: read_tracepoint_event(&reader);
	/* The stack at the spike is shown separately. */
	if (!err && !event->kind->format && event->time >= to->begin &&
	    strcmp(event->kind->name, "spike"))
		err = samples_add_event(&to->spans->samples, to->spans->names, to->tracepoints,
					event);
	if (event->time < to->begin)
		forget_ended_spans(to->spans, KEPT_MAX);
	return err;
}

int events_spans_end(struct events_spans *to, uint64_t end)
{
	if (to->last < to->begin)
		begin_window(to->spans, to->begin);
	spans_finish(to->spans, to->last < end ? end : to->last);
	return to->any ? 0 : -ENODATA;
}

int events_spans_read(struct tracepoints *tracepoints, int cpu, uint64_t begin, uint64_t end,
		      struct spans *spans, struct senders *senders, struct schedule *schedule)
{
	struct events_spans to = { spans, tracepoints, begin };
	struct tracepoint_event event;
	int err = schedule_add_gaps(schedule, tracepoints);

	while (!err && tracepoints_next(tracepoints, &event)) {
		/* What began before the window has its sender there too. */
		senders_add_event(senders, tracepoints, &event, cpu);
		err = schedule_add_event(schedule, spans->names, &event);
		if (err)
			break;
		if (cpu < 0 || event.cpu == cpu)
			err = events_spans_add_event(&to, &event);
	}
	senders_add_names(senders, tracepoints);
	return events_spans_end(&to, end) ?: err;
}
