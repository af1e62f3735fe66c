// SPDX-License-Identifier: GPL-2.0-only
#include "cause/cause.h"

#include <inttypes.h>
#include <string.h>

#include "cause/fingerprint.h"
#include "cause/late_thread.h"
#include "kernel_function.h"
#include "task.h"
#include "text.h"

/* Returns the longest span of code of this kind (SPAN_NR_KINDS: any) and name; *nr is the number of
 * such spans. */
static uint32_t find_longest_span(const struct findings *findings, enum span_kind kind,
				  uint32_t name, uint64_t *nr)
{
	const struct lane *code = findings_code(findings);
	uint32_t found = SPAN_NONE;
	uint64_t longest = 0;

	for (uint32_t i = 0; i < code->nr; i++) {
		const struct span *span = &code->spans[i];
		uint64_t time_ns = span_time_within(span, findings->late_begin, findings->late_end);

		if ((kind != SPAN_NR_KINDS && span->kind != kind) || span->name != name || !time_ns)
			continue;
		++*nr;
		if (time_ns > longest) {
			longest = time_ns;
			found = i;
		}
	}
	return found;
}

/* The longest span of this name within another one. */
static uint32_t find_span_within(const struct lane *code, uint32_t outer, uint32_t name)
{
	uint32_t found = SPAN_NONE;
	uint64_t longest = 0;

	for (uint32_t i = outer + 1;
	     i < code->nr && code->spans[i].depth > code->spans[outer].depth; i++) {
		uint64_t time = code->spans[i].end - code->spans[i].begin;

		if (code->spans[i].name != name || (found != SPAN_NONE && time <= longest))
			continue;
		found = i;
		longest = time;
	}
	return found;
}

/* Whether a span of code is the task's own. */
static bool is_code_of_task(const struct lane *code, uint32_t i)
{
	while (i != SPAN_NONE &&
	       (code->spans[i].kind == SPAN_FUNCTION || code->spans[i].kind == SPAN_SYSCALL))
		i = code->spans[i].parent;
	return i == SPAN_NONE;
}

#define FOUR_FIFTHS(ns) ((ns) / 5 * 4)

/* The innermost function inside `outer` (SPAN_NONE: of all code) that took at least this time
 * between begin and end, summed over its calls. A recursive one counts once. */
static int find_mostly_function(struct cause *cause, const struct findings *findings,
				uint32_t outer, uint64_t begin, uint64_t end, uint64_t least_ns)
{
	const struct lane *code = findings_code(findings);
	uint32_t nr = names_count(findings->spans->names), current = outer, depth = 0;
	_cleanup_free_ uint64_t *times = calloc(nr, sizeof(*times));
	_cleanup_free_ uint32_t *open = calloc(nr, sizeof(*open));

	if (!times || !open)
		return -ENOMEM;
	if (outer != SPAN_NONE)
		open[code->spans[outer].name]++;
	for (uint32_t i = outer + 1;
	     i < code->nr &&
	     (outer == SPAN_NONE || code->spans[i].depth > code->spans[outer].depth);
	     i++) {
		const struct span *span = &code->spans[i];

		for (; current != span->parent; current = code->spans[current].parent)
			open[code->spans[current].name]--;
		current = i;
		if (open[span->name]++ || (outer == SPAN_NONE && !findings->spans->has_functions &&
					   !is_code_of_task(code, i)))
			continue;
		times[span->name] += span_time_within(span, begin, end);
		if (!least_ns || times[span->name] < least_ns ||
		    (cause->mostly && span->depth <= depth))
			continue;
		depth = span->depth;
		cause->mostly = span->name;
	}
	return 0;
}

static int find_mostly_within(struct cause *cause, const struct findings *findings)
{
	const struct lane *code = findings_code(findings);
	const struct span *outer = &code->spans[cause->span];
	uint64_t begin = outer->begin > findings->late_begin ? outer->begin : findings->late_begin;
	uint64_t end = outer->end < findings->late_end ? outer->end : findings->late_end;
	int err = find_mostly_function(cause, findings, cause->span, begin, end,
				       end > begin ? FOUR_FIFTHS(end - begin) : 0);

	if (cause->mostly)
		cause->mostly_span = find_span_within(code, cause->span, cause->mostly);
	return err;
}

/* Whether it only shows that there was a system call. */
static bool is_function_of_any_call(const char *function)
{
	char token[FINGERPRINT_NAME_SIZE];

	return fingerprint_frame_role(token, function) != FRAME_FUNCTION;
}

/* The same for all that ran while a thread was late. Events know the functions of work items. */
static int find_mostly_of_all(struct cause *cause, const struct findings *findings)
{
	int err = find_mostly_function(cause, findings, SPAN_NONE, findings->late_begin,
				       findings->late_end, FOUR_FIFTHS(cause->time_ns));
	uint64_t nr = 0;

	if (!err && cause->mostly &&
	    is_function_of_any_call(findings_name(findings, cause->mostly)))
		err = find_mostly_function(cause, findings, SPAN_NONE, findings->late_begin,
					   findings->late_end, cause->time_ns / 2 + 1);
	if (cause->mostly)
		cause->mostly_span = find_longest_span(findings, SPAN_NR_KINDS, cause->mostly, &nr);
	return err;
}

/* Names the code that turned interrupts off. */
static int blame_irqs_off(struct cause *cause, const struct findings *findings,
			  const struct span *off, uint64_t time_ns)
{
	static const enum cause_kind kinds[SPAN_NR_KINDS] = {
		[SPAN_INTERRUPT] = CAUSE_INTERRUPT,
		[SPAN_NMI] = CAUSE_NMI,
		[SPAN_EXCEPTION] = CAUSE_EXCEPTION,
	};
	const struct span *by;

	cause->kind = CAUSE_IRQS_OFF;
	cause->time_ns = time_ns;
	cause->count = 1;
	cause->name = off->name;
	cause->span = findings_irqs_off_by(findings->spans, off);
	if (cause->span == SPAN_NONE)
		return 0;
	by = &findings_code(findings)->spans[cause->span];
	cause->name = by->name;
	/* Entering an interrupt turns interrupts off. */
	if (kinds[by->kind] && by->name == off->name)
		cause->kind = kinds[by->kind];
	return 0;
}

static const struct span *longest_irqs_off(const struct findings *findings, uint64_t *time_ns)
{
	const struct lane *lane = &findings->spans->lanes[LANE_IRQS_OFF];
	const struct span *found = NULL;

	*time_ns = 0;
	for (uint32_t i = 0; i < lane->nr; i++) {
		uint64_t late_ns =
			span_time_within(&lane->spans[i], findings->late_begin, findings->late_end);

		if (late_ns > *time_ns) {
			*time_ns = late_ns;
			found = &lane->spans[i];
		}
	}
	return found;
}

static const struct usage *find_longest_usage(const struct findings *findings)
{
	const struct usage *found = NULL;

	for (size_t i = 0; i < findings->nr_budget; i++) {
		const struct usage *usage = &findings->budget[i];

		if (usage->late_ns && (!found || usage->late_ns > found->late_ns))
			found = usage;
	}
	return found;
}

/* The longest time for which the CPU was idle, without interrupts. `span`: of a function that waits
 * for them, or SPAN_NONE. */
static uint64_t longest_idle_time(const struct findings *findings, uint32_t span)
{
	const struct lane *tasks = &findings->spans->lanes[LANE_TASKS],
			  *code = findings_code(findings);
	uint32_t nr = findings->spans->has_functions ? 0 : code->nr;
	uint64_t longest = 0;

	if (span != SPAN_NONE)
		return span_time_within(&code->spans[span], findings->late_begin,
					findings->late_end);
	for (uint32_t i = 0, k = 0; i < tasks->nr; i++) {
		struct span left = tasks->spans[i];

		while (left.kind == SPAN_IDLE && left.begin < left.end) {
			struct span piece = left;
			uint64_t time_ns;

			while (k < nr && code->spans[k].end <= left.begin)
				k++;
			if (k < nr && code->spans[k].begin < left.end) {
				piece.end = code->spans[k].begin;
				left.begin = code->spans[k].end;
			} else {
				left.begin = left.end;
			}
			time_ns =
				span_time_within(&piece, findings->late_begin, findings->late_end);
			longest = time_ns > longest ? time_ns : longest;
		}
	}
	return longest;
}

static void blame_longest_usage(struct cause *cause, const struct findings *findings,
				const struct facts *facts, const struct usage *usage)
{
	static const enum cause_kind kinds[SPAN_NR_KINDS] = {
		[SPAN_INTERRUPT] = CAUSE_INTERRUPT,
		[SPAN_SOFTIRQ] = CAUSE_SOFTIRQ,
		[SPAN_NMI] = CAUSE_NMI,
		[SPAN_EXCEPTION] = CAUSE_EXCEPTION,
		[SPAN_IDLE] = CAUSE_IDLE,
		[SPAN_THREAD] = CAUSE_THREAD,
		[SPAN_UNTRACED] = CAUSE_UNTRACED,
		[SPAN_LOST] = CAUSE_LOST,
	};

	cause->kind = kinds[usage->kind];
	cause->time_ns = usage->late_ns;
	cause->name = usage->name;
	cause->span = find_longest_span(findings, usage->kind, usage->name, &cause->count);
	/* To leave one idle period, the CPU may need long; several are no delay. */
	if (cause->kind == CAUSE_IDLE) {
		uint64_t longest_ns = longest_idle_time(findings, cause->span);

		cause->time_ns = longest_ns < usage->late_ns ? longest_ns : usage->late_ns;
		if (!cause_explains(findings, cause->time_ns))
			cause->kind = CAUSE_MIXED;
	}
	/* If functions and interrupts-off spans are known, a running thread does not delay a timer,
	 * nor does an exception or a softirq. They do delay a thread. */
	if ((cause->kind == CAUSE_THREAD || cause->kind == CAUSE_EXCEPTION ||
	     cause->kind == CAUSE_SOFTIRQ) &&
	    findings->spans->has_irqs_off && !facts_is_thread(facts))
		cause->kind = CAUSE_NONE;
	if (!cause_explains(findings, usage->late_ns))
		cause->kind = CAUSE_MIXED;
}

/* Not what Event Trace has a name of, such as an SMI. */
static bool is_code_without_trace(const struct cause *cause, const struct findings *findings)
{
	return cause->kind == CAUSE_UNTRACED && findings_name(findings, cause->name)[0] == '[';
}

/* Intel PT usually traces the kernel only. A thread that was late then waited for a task whose own
 * code is not traced, or ran such code itself. */
static void blame_untraced_task(struct cause *cause, const struct findings *findings,
				const struct facts *facts)
{
	const struct lane *tasks = &findings->spans->lanes[LANE_TASKS];

	if (!is_code_without_trace(cause, findings) || !facts_is_thread(facts) ||
	    facts_is_reported(facts))
		return;
	for (uint32_t i = 0; i < tasks->nr; i++) {
		uint64_t time_ns = span_time_within(&tasks->spans[i], findings->late_begin,
						    findings->late_end);

		if (tasks->spans[i].kind != SPAN_THREAD || !cause_explains(findings, time_ns))
			continue;
		cause->mostly = cause->name;
		cause->kind = CAUSE_THREAD;
		cause->time_ns = time_ns;
		cause->name = tasks->spans[i].name;
		cause->span = SPAN_NONE;
		return;
	}
}

/* Events do not show functions. If the timer's interrupt interrupted the blamed interrupt, the
 * stack at the spike shows where that ended. */
static void find_blamed_frame(struct cause *cause, const struct findings *findings,
			      const struct facts *facts)
{
	const struct lane *code = findings_code(findings);

	if (findings->spans->has_functions || facts_is_thread(facts) ||
	    cause->kind != CAUSE_INTERRUPT)
		return;
	for (uint32_t i = lane_innermost_at(code, facts->spike.actual_ns); i != SPAN_NONE;
	     i = code->spans[i].parent) {
		if (code->spans[i].kind == code->spans[cause->span].kind &&
		    code->spans[i].name == cause->name) {
			cause->frame = spike_stack_culprit(&facts->stack);
			return;
		}
	}
}

/* For a function call, the sender that names its function. For another interrupt, the last sender
 * before it. */
static void find_interrupt_sender(struct cause *cause, const struct findings *findings,
				  const struct facts *facts)
{
	struct senders_want want = { .step_ns = findings->spans->step_ns };

	if (!facts->senders || cause->kind != CAUSE_INTERRUPT || cause->span == SPAN_NONE)
		return;
	want.at = findings_code(findings)->spans[cause->span].begin;
	if (cause->mostly) {
		want.function = findings_name(findings, cause->mostly);
		cause->sender = senders_find(facts->senders, &want);
	}
	want.function = findings_name(findings, cause->name);
	if (!cause->sender)
		cause->sender = senders_find(facts->senders, &want);
	if (cause->sender || !sender_kind_of_interrupt(want.function, &want.kind))
		return;
	want.function = NULL;
	cause->sender = senders_find(facts->senders, &want);
}

static bool is_stack_of_task(const struct spike_stack *stack, int tid)
{
	return tid > 0 && stack->tid == tid && spike_stack_switched(stack) != STACK_NONE;
}

const struct spike_stack *cause_switched_stack(const struct cause *cause,
					       const struct findings *findings,
					       const struct facts *facts)
{
	bool last, before;
	int tid;

	task_name_comm_length(findings_name(findings, cause->name), &tid);
	last = is_stack_of_task(&facts->stack, tid);
	before = is_stack_of_task(&facts->holder, tid);
	if (!facts_is_thread(facts) || facts_is_reported(facts))
		return NULL;
	/* The stack is from before the task ran. */
	if (before && spike_stack_switched_in(&facts->holder))
		before = false;
	/* If the interrupt was in time, the thread waited for the code that had preemption off. */
	if (last && before && spike_stack_preempted(&facts->stack))
		before = cause_explains(findings, facts->spike.irq_ns);
	if (before)
		return &facts->holder;
	return last ? &facts->stack : NULL;
}

bool cause_went_on(const struct cause *cause, const struct findings *findings,
		   const struct facts *facts)
{
	return cause_switched_stack(cause, findings, facts) == &facts->holder &&
	       facts->stack.tid == facts->holder.tid &&
	       !cause_explains(findings, facts->spike.irq_ns) &&
	       spike_stack_went_on(&facts->stack, &facts->holder);
}

/* Finds who queued the work of a kernel thread: its function is among the callers on the thread's
 * stack. */
static void find_work_queuer(struct cause *cause, const struct findings *findings,
			     const struct facts *facts)
{
	const struct lane *code = findings_code(findings);
	const struct spike_stack *stack = cause_switched_stack(cause, findings, facts);
	struct senders_want want = { .at = findings->late_end };

	if (!facts->senders)
		return;
	for (uint32_t i = cause->mostly_span; i != SPAN_NONE && !cause->sender;
	     i = code->spans[i].parent) {
		want.function = findings_name(findings, code->spans[i].name);
		cause->sender = senders_find(facts->senders, &want);
	}
	if (findings->spans->has_functions)
		return;
	for (size_t i = 0; stack && i < stack->nr && !cause->sender; i++) {
		want.function = stack->frames[i].name;
		cause->sender = senders_find(facts->senders, &want);
	}
}

static uint32_t name_of_thread(const struct findings *findings, uint32_t name, int tid)
{
	char text[64];

	snprintf(text, sizeof(text), "%s %d", findings_name(findings, name), tid);
	return names_add(findings->spans->names, text);
}

/* Who ran while the thread could have: not those that ran while it slept. Several threads of one
 * program may have had the CPU in turns. */
static void blame_rival_threads(struct cause *cause, const struct findings *findings,
				const struct late_thread *thread)
{
	const struct schedule_shares *rivals = &thread->rivals;
	const struct schedule_share *most = NULL;

	cause->time_ns = 0;
	for (size_t i = 0; i < rivals->nr; i++) {
		/* The first is the longest. */
		bool alone = rivals->list[0].time_ns >= thread->part_ns / 2;
		uint64_t time_ns = alone ? rivals->list[i].time_ns : 0, count = alone;

		for (size_t j = 0; j < rivals->nr && !alone; j++) {
			if (rivals->list[j].name != rivals->list[i].name)
				continue;
			time_ns += rivals->list[j].time_ns;
			count++;
		}
		if (time_ns <= cause->time_ns)
			continue;
		cause->time_ns = time_ns;
		cause->count = count;
		most = &rivals->list[i];
	}
	if (!most)
		return;
	cause->kind =
		most->tid && cause->time_ns >= thread->part_ns / 2 ? CAUSE_THREAD : CAUSE_MIXED;
	cause->span = SPAN_NONE;
	cause->rival = most;
	if (cause->count > 1)
		cause->name = most->name;
	else if (most->tid)
		cause->name = name_of_thread(findings, most->name, most->tid);
	else
		cause->name = names_add(findings->spans->names, "idle");
}

static void blame_own_thread(struct cause *cause, const struct findings *findings,
			     const struct late_thread *thread)
{
	cause->kind = CAUSE_THREAD;
	cause->span = SPAN_NONE;
	cause->time_ns = thread->part_ns;
	cause->name = name_of_thread(findings, thread->name, thread->tid);
}

/* Better than that several functions ran, code without a trace, or nothing that is known */
static void blame_by_switches(struct cause *cause, const struct findings *findings,
			      const struct late_thread *thread)
{
	if (thread->part == PART_RUNNABLE && thread->rivals.nr && thread->rivals.list[0].tid) {
		blame_rival_threads(cause, findings, thread);
	} else if (thread->part == PART_RUNNING && cause->kind != CAUSE_THREAD) {
		if (cause->kind == CAUSE_UNTRACED)
			cause->mostly = cause->name;
		blame_own_thread(cause, findings, thread);
	}
}

/* A thread that sleeps is not delayed by what its CPU does. Nor is what another CPU did among the
 * spans. */
static bool blame_late_thread(struct cause *cause, const struct findings *findings,
			      const struct facts *facts)
{
	const struct late_thread *thread = facts->thread;

	cause->time_ns = thread->part_ns;
	if (thread->part == PART_ASLEEP) {
		cause->kind = CAUSE_ASLEEP;
		cause->count = thread->waits[0].count;
		return true;
	}
	if (thread->part == PART_MIXED)
		cause->kind = CAUSE_MIXED;
	if (thread->part == PART_MIXED || thread->part == PART_UNKNOWN)
		return true;
	if (thread->part == PART_RUNNABLE &&
	    (thread->why == RUNNABLE_QUOTA || thread->why == RUNNABLE_RT_THROTTLING ||
	     thread->why == RUNNABLE_FAIR_SERVER)) {
		cause->kind = CAUSE_THROTTLED;
		return true;
	}
	if (thread->part == PART_INTERRUPT || thread->longest.cpu == facts->spike.cpu)
		return false;
	blame_by_switches(cause, findings, thread);
	return true;
}

bool cause_is_elsewhere(const struct facts *facts)
{
	return facts_is_reported(facts) && !facts_are_of_noise(facts) && !facts->thread &&
	       !facts->by_cpu;
}

int cause_find(struct cause *cause, const struct findings *findings, const struct facts *facts)
{
	const struct usage *usage = find_longest_usage(findings);
	const struct span *off;
	uint64_t off_ns;
	int err = 0;

	*cause = (struct cause){
		.kind = CAUSE_NONE,
		.span = SPAN_NONE,
		.frame = STACK_NONE,
		.mostly_span = SPAN_NONE,
	};
	if (facts->spike.poked) {
		cause->kind = CAUSE_POKED;
		return 0;
	}
	/* What took so long is no question if it did not. */
	if (facts->spike.uncertain)
		return 0;
	if (facts->thread && blame_late_thread(cause, findings, facts))
		return 0;
	if (cause_is_elsewhere(facts))
		return 0;
	cause->time_ns = 0;
	/* Most of the latency was not recorded. */
	if (facts->no_times)
		return 0;
	if (!cause_explains(findings, findings->late_end - findings->late_begin)) {
		if (facts->thread)
			blame_by_switches(cause, findings, facts->thread);
		return 0;
	}
	off = longest_irqs_off(findings, &off_ns);
	/* These precede interrupts-off, which is unknown or includes them. */
	if (usage && cause_explains(findings, usage->late_ns) &&
	    (usage->kind == SPAN_LOST || usage->kind == SPAN_UNTRACED || usage->kind == SPAN_IDLE ||
	     usage->kind == SPAN_NMI))
		blame_longest_usage(cause, findings, facts, usage);
	else if (off && cause_explains(findings, off_ns))
		err = blame_irqs_off(cause, findings, off, off_ns);
	else if (usage)
		blame_longest_usage(cause, findings, facts, usage);
	if (facts->thread && (cause->kind == CAUSE_MIXED || cause->kind == CAUSE_THREAD ||
			      is_code_without_trace(cause, findings)))
		blame_by_switches(cause, findings, facts->thread);
	blame_untraced_task(cause, findings, facts);
	find_blamed_frame(cause, findings, facts);
	irq_latency_blame(cause, findings, facts);
	if (!err && cause->kind == CAUSE_THREAD)
		err = find_mostly_of_all(cause, findings);
	if (cause->kind == CAUSE_THREAD)
		find_work_queuer(cause, findings, facts);
	if (err || cause->span == SPAN_NONE)
		return err;
	if (!findings_code(findings)->spans[cause->span].cut) {
		cause->insns = findings_code(findings)->spans[cause->span].insns;
		cause->cycles = findings_code(findings)->spans[cause->span].cycles;
	}
	err = find_mostly_within(cause, findings);
	find_interrupt_sender(cause, findings, facts);
	return err;
}

const char *cause_kind_name(enum cause_kind kind)
{
	static const char *const names[] = {
		[CAUSE_NONE] = "none",
		[CAUSE_POKED] = "poked",
		[CAUSE_IRQS_OFF] = "irqs_off",
		[CAUSE_INTERRUPT] = "interrupt",
		[CAUSE_SOFTIRQ] = "softirq",
		[CAUSE_NMI] = "nmi",
		[CAUSE_EXCEPTION] = "exception",
		[CAUSE_IDLE] = "idle",
		[CAUSE_THREAD] = "thread",
		[CAUSE_UNTRACED] = "untraced",
		[CAUSE_LOST] = "lost",
		[CAUSE_MIXED] = "mixed",
		[CAUSE_ASLEEP] = "asleep",
		[CAUSE_THROTTLED] = "throttled",
		[CAUSE_OUTSIDE] = "outside",
		[CAUSE_IRQS_OFF_OR_OUTSIDE] = "irqs_off_or_outside",
		[CAUSE_ARMED_PAST] = "armed_past",
		[CAUSE_REARMED_LATE] = "rearmed_late",
	};
	_Static_assert(ARRAY_SIZE(names) == CAUSE_NR, "each has a name");

	return names[kind];
}
