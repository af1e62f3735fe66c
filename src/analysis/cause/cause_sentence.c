// SPDX-License-Identifier: GPL-2.0-only
/* The cause of a spike as a sentence. */
#include "cause/cause.h"

#include <inttypes.h>
#include <string.h>

#include "calls/timeline.h"
#include "cause/late_thread.h"
#include "text.h"
#include "units.h"

#define CALLERS_MAX 3

static const char *name_in_words(const char *name)
{
	return strcmp(name, "[not traced]") ? name : "code without a trace";
}

/* Appends () to function names, but not to placeholders such as [unknown]. */
static void put_function_call(FILE *file, const char *name)
{
	fprintf(file, "%s%s", name_in_words(name), name[0] == '[' ? "" : "()");
}

static void put_blamed_name(FILE *file, const struct cause *cause, const struct findings *findings,
			    uint32_t name)
{
	if (findings->spans->has_functions && cause->span != SPAN_NONE)
		put_function_call(file, findings_name(findings, name));
	else
		fputs(findings_name(findings, name), file);
}

/* Spans from the inside out, up to one that is not written. */
static void put_span_callers(FILE *file, const struct findings *findings, uint32_t span,
			     uint32_t end, const char *before)
{
	const struct lane *code = findings_code(findings);
	size_t nr = 0;

	for (uint32_t i = span; i != end && i != SPAN_NONE; i = code->spans[i].parent) {
		if (nr == CALLERS_MAX) {
			fputs(" < ...", file);
			return;
		}
		fputs(nr++ ? " < " : before, file);
		put_function_call(file, findings_name(findings, code->spans[i].name));
	}
}

static void put_mostly_function(FILE *file, const struct cause *cause,
				const struct findings *findings)
{
	if (!cause->mostly)
		return;
	fputs(", most of it in ", file);
	put_blamed_name(file, cause, findings, cause->mostly);
	if (findings->spans->has_functions && cause->mostly_span != SPAN_NONE)
		put_span_callers(file, findings,
				 findings_code(findings)->spans[cause->mostly_span].parent,
				 cause->span, " < ");
}

static void put_code_around(FILE *file, const struct cause *cause, const struct findings *findings,
			    const char *before)
{
	if (cause->span != SPAN_NONE && findings->spans->has_functions)
		put_span_callers(file, findings, findings_code(findings)->spans[cause->span].parent,
				 SPAN_NONE, before);
}

/* The trigger knows which task the timer's interrupt hit. If the cause is earlier, another task may
 * have run: then say so. */
static void put_interrupted_task(FILE *file, const struct findings *findings,
				 const struct facts *facts, uint64_t at)
{
	const struct lane *tasks = &findings->spans->lanes[LANE_TASKS];
	uint32_t task = lane_innermost_at(tasks, at);
	char text[96];

	if (task == SPAN_NONE)
		return;
	if (!facts_is_thread(facts) && task == lane_innermost_at(tasks, facts->spike.actual_ns))
		fprintf(file, ", interrupting %s", facts_format_task(facts, text, sizeof(text)));
	else
		fprintf(file, ", which came while %s ran",
			findings_name(findings, tasks->spans[task].name));
}

/* For events: the stack at the spike. */
static void put_frame_of_stack(FILE *file, const struct cause *cause, const struct facts *facts,
			       const char *before)
{
	if (cause->frame == STACK_NONE)
		return;
	fputs(before, file);
	spike_stack_put_frame(file, &facts->stack.frames[cause->frame]);
	spike_stack_put_callers(file, &facts->stack, cause->frame, ", called from ");
}

static void put_cause_irqs_off(FILE *file, const struct cause *cause,
			       const struct findings *findings, const struct facts *facts)
{
	if (cause->frame != STACK_NONE) {
		irq_latency_put_off(file, cause, findings, facts);
		return;
	}
	fprintf(file, "%s in ", FORMAT_TIME(cause->time_ns));
	put_function_call(file, findings_name(findings, cause->name));
	fputs(" with interrupts off", file);
	put_mostly_function(file, cause, findings);
	put_code_around(file, cause, findings, ", called from ");
}

static void put_cause_interrupt(FILE *file, const struct cause *cause,
				const struct findings *findings, const struct facts *facts)
{
	/* Its kind in words */
	const char *what = cause->kind == CAUSE_NMI ? "NMI" : cause_kind_name(cause->kind);

	fprintf(file, "%s in %s ", FORMAT_TIME(cause->time_ns), what);
	put_blamed_name(file, cause, findings, cause->name);
	if (cause->count > 1)
		fprintf(file, ", which came %" PRIu64 " times", cause->count);
	put_mostly_function(file, cause, findings);
	if (cause->sender)
		sender_put_text(file, cause->sender);
	put_frame_of_stack(file, cause, facts, ", last in ");
	put_code_around(file, cause, findings, ", interrupting ");
	if (!findings->spans->has_functions && cause->span != SPAN_NONE)
		put_interrupted_task(file, findings, facts,
				     findings_code(findings)->spans[cause->span].begin);
}

/* The code at the expected expiry. */
static void put_expected_path(FILE *file, const struct findings *findings)
{
	if (findings->path != SPAN_NONE && findings->spans->has_functions)
		put_span_callers(file, findings, findings->path, SPAN_NONE, ", first in ");
}

static void put_not_reached(FILE *file, const struct findings *findings)
{
	fprintf(file, "the %s does not reach back to the expected expiry",
		findings->left_out_ns ? "window (--window)" : "recording");
}

static void put_cause_none(FILE *file, const struct cause *cause, const struct findings *findings,
			   const struct facts *facts)
{
	if (facts->thread && facts->thread->part == PART_UNKNOWN) {
		fprintf(file, "for %s of that, it is not recorded what the thread did: ",
			FORMAT_TIME(facts->thread->part_ns));
		if (facts->thread->stays.lost_ns > facts->thread->part_ns / 2) {
			fputs("events were lost meanwhile", file);
			return;
		}
		if (facts->capture.lost)
			fprintf(file, "%" PRIu64 " events were lost, ", facts->capture.lost);
		fputs("it was on a CPU that is not watched, or the recording begins later", file);
		return;
	}
	if (cause_is_elsewhere(facts)) {
		if (facts->by_argument)
			fputs("what delayed it is not known, because the span belongs to no thread",
			      file);
		else if (!late_thread_tid(facts))
			fputs("which thread was late was not reported (--tid)", file);
		else if (!cause_explains(findings, findings->late_end - findings->late_begin))
			put_not_reached(file, findings);
		else
			fputs("whether the thread ran or waited is not recorded: "
			      "sched:sched_switch and sched:sched_waking show it",
			      file);
		return;
	}
	if (!cause_explains(findings, findings->late_end - findings->late_begin)) {
		put_not_reached(file, findings);
		return;
	}
	fputs("nothing in the window explains it", file);
	if (!cause->name)
		return;
	if (cause_explains(findings, findings->irqs_perhaps_off_ns))
		fprintf(file, ": the trace does not show whether interrupts were on for %s of that",
			FORMAT_TIME(findings->irqs_perhaps_off_ns));
	else if (findings->irqs_on_ns == findings->late_end - findings->late_begin)
		fputs(": interrupts were on all the time", file);
	else
		fprintf(file, ": interrupts were on for %s of that",
			FORMAT_TIME(findings->irqs_on_ns));
	fprintf(file, ", and %s ran", findings_name(findings, cause->name));
	put_expected_path(file, findings);
}

/* Whether the stack begins with the function that took most of the time. */
static bool is_mostly_in_stack(const struct cause *cause, const struct findings *findings,
			       const struct spike_stack *stack)
{
	return !findings->spans->has_functions && stack &&
	       !strcmp(stack->frames[spike_stack_switched(stack)].name,
		       findings_name(findings, cause->mostly));
}

static void put_cause_thread(FILE *file, const struct cause *cause, const struct findings *findings,
			     const struct facts *facts)
{
	const struct spike_stack *stack = cause_switched_stack(cause, findings, facts);

	if (cause->count > 1)
		fprintf(file, "%" PRIu64 " threads %s ran for %s of that", cause->count,
			findings_name(findings, cause->name), FORMAT_TIME(cause->time_ns));
	else
		fprintf(file, "%s%s ran for %s of that",
			facts_is_reported(facts) ? "" : "blocking thread ",
			findings_name(findings, cause->name), FORMAT_TIME(cause->time_ns));
	if (cause->mostly && !is_mostly_in_stack(cause, findings, stack)) {
		fputs(", most of it in ", file);
		put_function_call(file, findings_name(findings, cause->mostly));
	}
	if (findings->spans->has_functions && cause->mostly_span != SPAN_NONE) {
		put_span_callers(file, findings,
				 findings_code(findings)->spans[cause->mostly_span].parent,
				 SPAN_NONE, ", called from ");
	} else if (findings->spans->has_functions) {
		put_expected_path(file, findings);
	} else if (stack) {
		/* Where it was at the timer's interrupt, or in the end; or both, if these differ.
		 */
		spike_stack_put_switched(file, stack);
		if (cause_went_on(cause, findings, facts))
			spike_stack_put_switched(file, &facts->stack);
	} else if (!facts_is_thread(facts)) {
		fputs("; events do not show whether interrupts were off", file);
	} else if (!findings->samples.function) {
		fprintf(file, "; what it executed is not recorded%s",
			findings->spans->samples.nr ? ""
			: facts_is_ftrace(facts)
				? " (-e function_graph records it)"
				: " (-e cpu-clock, --recorder ftrace or pt records it)");
	}
	if (cause->sender)
		sender_put_text(file, cause->sender);
}

static void put_cause_lost(FILE *file, const struct cause *cause, const struct findings *findings,
			   const struct facts *facts)
{
	const char *name = findings_name(findings, cause->name);

	if (!strcmp(name, TRACK_NO_CODE))
		fprintf(file, "the code that ran for %s of that is not in the capture",
			FORMAT_TIME(cause->time_ns));
	else if (!strcmp(name, TRACK_UNDECODED))
		fprintf(file, "the trace of %s of that does not fit the code",
			FORMAT_TIME(cause->time_ns));
	else
		fprintf(file, "the trace of %s of that is missing", FORMAT_TIME(cause->time_ns));
}

static void put_parts_of_thread(FILE *file, const uint64_t *sums)
{
	static const struct {
		enum thread_state state;
		const char *text;
	} parts[] = {
		{ THREAD_RUNNING, "ran" },
		{ THREAD_RUNNABLE, "waited for a CPU" },
		{ THREAD_ASLEEP, "slept" },
	};
	size_t nr = 0, put = 0;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		nr += sums[parts[i].state] > 0;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (!sums[parts[i].state])
			continue;
		fprintf(file, "%s%s for %s",
			!put	       ? "it "
			: put + 1 < nr ? ", "
			: nr > 2       ? ", and "
				       : " and ",
			parts[i].text, FORMAT_TIME(sums[parts[i].state]));
		put++;
	}
}

static void put_cause_mixed(FILE *file, const struct cause *cause, const struct findings *findings,
			    const struct facts *facts)
{
	const char *name = findings_name(findings, cause->name);

	if (facts->thread && facts->thread->part == PART_MIXED) {
		const uint64_t *sums = facts->thread->stays.sums;

		put_parts_of_thread(file, sums);
		if (sums[THREAD_UNKNOWN])
			fprintf(file, "; %s of that %s", FORMAT_TIME(sums[THREAD_UNKNOWN]),
				facts->thread->stays.lost_ns
					? "are unknown, because events were lost"
					: "are not recorded");
		return;
	}
	fprintf(file, "nothing took half of that; %s took the most, %s",
		name[0] ? name_in_words(name) : "unknown code", FORMAT_TIME(cause->time_ns));
}

static void put_cause_idle(FILE *file, const struct cause *cause, const struct findings *findings,
			   const struct facts *facts)
{
	fprintf(file, "the CPU was idle for %s of that, ", FORMAT_TIME(cause->time_ns));
	if (!has_prefix(findings_name(findings, cause->name), "swapper/")) {
		fputs("in ", file);
		put_blamed_name(file, cause, findings, cause->name);
		fputs(", ", file);
	}
	fputs(findings->spans->has_functions ? "and slow to wake up"
					     : "and no earlier interrupt is recorded",
	      file);
	if (facts->hardware.hypervisor == 1)
		fputs("; the hypervisor may have woken it late", file);
}

static void put_cause_untraced(FILE *file, const struct cause *cause,
			       const struct findings *findings, const struct facts *facts)
{
	fprintf(file, "%s in %s", FORMAT_TIME(cause->time_ns),
		name_in_words(findings_name(findings, cause->name)));
	put_code_around(file, cause, findings, ", called from ");
}

static void put_cause_throttled(FILE *file, const struct cause *cause,
				const struct findings *findings, const struct facts *facts)
{
	late_thread_put_throttled(file, facts->thread, findings->spans->names, facts);
}

static void put_cause_asleep(FILE *file, const struct cause *cause, const struct findings *findings,
			     const struct facts *facts)
{
	late_thread_put_asleep(file, facts->thread, findings->spans->names);
}

static void (*const put_causes[CAUSE_NR])(FILE *file, const struct cause *cause,
					  const struct findings *findings,
					  const struct facts *facts) = {
	[CAUSE_NONE] = put_cause_none,
	[CAUSE_POKED] = put_cause_none,
	[CAUSE_IRQS_OFF] = put_cause_irqs_off,
	[CAUSE_INTERRUPT] = put_cause_interrupt,
	[CAUSE_SOFTIRQ] = put_cause_interrupt,
	[CAUSE_NMI] = put_cause_interrupt,
	[CAUSE_EXCEPTION] = put_cause_interrupt,
	[CAUSE_IDLE] = put_cause_idle,
	[CAUSE_THREAD] = put_cause_thread,
	[CAUSE_UNTRACED] = put_cause_untraced,
	[CAUSE_LOST] = put_cause_lost,
	[CAUSE_MIXED] = put_cause_mixed,
	[CAUSE_ASLEEP] = put_cause_asleep,
	[CAUSE_THROTTLED] = put_cause_throttled,
	[CAUSE_OUTSIDE] = irq_latency_put_outside,
	[CAUSE_IRQS_OFF_OR_OUTSIDE] = put_cause_irqs_off,
	[CAUSE_ARMED_PAST] = irq_latency_put_arming,
	[CAUSE_REARMED_LATE] = irq_latency_put_arming,
};

/* Without a trace: the place that the interrupt hit, if it says what delayed it. */
static void put_by_spike_stack(FILE *file, const struct facts *facts)
{
	const struct spike_stack *stack = &facts->stack;
	size_t frame = spike_stack_culprit(stack);

	if (frame == STACK_NONE)
		frame = spike_stack_open(stack);
	if (facts_is_thread(facts) || frame == STACK_NONE) {
		fputs(facts->recorder == PERF_POKE_RECORDER_PERF
			      ? "the cause is in the trace of the poked perf"
		      : facts->unread ? "the cause may be in the trace, for which libipt is needed"
				      : "nothing recorded explains it",
		      file);
		return;
	}
	fputs("the interrupt came in ", file);
	spike_stack_put_frame(file, &stack->frames[frame]);
	spike_stack_put_callers(file, stack, frame, ", called from ");
	if (facts->recorder == PERF_POKE_RECORDER_PERF)
		fputs("; the poked perf has the trace", file);
	else if (facts->unread)
		fputs("; the trace was not read, as libipt is needed for it", file);
}

/* Which part of the latency the rest explains. */
static void put_late_part(FILE *file, const struct facts *facts, const struct facts *whole)
{
	if (!facts->thread)
		return;
	if (facts->thread->part == PART_INTERRUPT)
		fprintf(file,
			"the timer's interrupt was %s late: ", FORMAT_TIME(facts->thread->part_ns));
	else if (facts->thread->part == PART_RUNNABLE && facts_is_reported(whole))
		fprintf(file, "it waited for the CPU for %s%s: ",
			facts->thread->longest.unsure ? "up to " : "",
			FORMAT_TIME(facts->thread->part_ns));
}

/* Then only the begin and end of a handler are recorded. */
static bool is_function_unseen(const struct cause *cause, const struct findings *findings,
			       const struct facts *facts)
{
	return !cause->mostly && !facts_is_pt(facts) && !findings->spans->has_functions &&
	       !findings->samples.function;
}

/* To the kernel, what the hypervisor interrupts goes on running. */
static bool is_either(const struct cause *cause, const struct findings *findings,
		      const struct facts *facts)
{
	bool is_handler = cause->kind == CAUSE_INTERRUPT || cause->kind == CAUSE_SOFTIRQ;

	if (is_handler && facts->hardware.hypervisor == 1 &&
	    is_function_unseen(cause, findings, facts))
		return true;
	return (is_handler || cause->kind == CAUSE_THREAD || cause->kind == CAUSE_EXCEPTION) &&
	       hardware_may_have_stolen(&facts->hardware, facts->spike.latency_ns);
}

static void put_cause(FILE *file, const struct cause *cause, const struct findings *findings,
		      const struct facts *facts)
{
	bool either = is_either(cause, findings, facts);

	fputs(either ? "either " : "", file);
	put_causes[cause->kind](file, cause, findings, facts);
	fputs(either ? ", or the hypervisor ran something else" : "", file);
}

static void put_reason(FILE *file, const struct cause *cause, const struct findings *findings,
		       const struct facts *facts, const struct facts *whole)
{
	put_late_part(file, facts, whole);
	if (facts_are_of_noise(facts) && !facts_is_pt(facts))
		; /* The noise itself is all that is known. */
	else if (!facts_have_trace(facts))
		put_by_spike_stack(file, facts);
	else if (facts->no_times)
		fputs("the trace has no times, because TSC was not perf's clock", file);
	else
		put_cause(file, cause, findings, facts);
	samples_put_mostly(file, &findings->samples, findings->spans->names, "; ");
	if (facts->thread && facts->thread->part == PART_RUNNABLE && cause->kind != CAUSE_THROTTLED)
		late_thread_put_why(file, facts->thread, findings->spans->names, facts,
				    cause->kind == CAUSE_THREAD ? cause->rival : NULL);
	if (findings->left_out_ns && cause->kind != CAUSE_NONE)
		fprintf(file, "; the window (--window) leaves out the first %s",
			FORMAT_TIME(findings->left_out_ns));
	if (cause->kind != CAUSE_ASLEEP && !cause->steal_ns)
		hardware_put_causes(file, &facts->hardware, &findings->spans->power,
				    facts->spike.expected_ns, facts->spike.latency_ns);
}

char *cause_sentence(const struct cause *cause, const struct findings *findings,
		     const struct facts *facts, const struct facts *whole)
{
	char *text = NULL, task[96];
	size_t size;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return NULL;
	if (cause->kind == CAUSE_POKED) {
		fputs("this capture was requested: no timer was late", file);
	} else if (facts_is_reported(whole) && !whole->spike.latency_ns) {
		fprintf(file, "%s, in %s", facts_late_label(whole),
			facts_format_task(whole, task, sizeof(task)));
	} else {
		facts_put_late(file, whole);
		if (whole->spike.uncertain)
			fputs("not certain: the kernel skipped the trigger at an exit, so it may "
			      "have been shorter",
			      file);
		else
			put_reason(file, cause, findings, facts, whole);
	}
	if (fclose(file))
		free(TAKE_PTR(text));
	return text;
}
