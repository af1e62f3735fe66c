// SPDX-License-Identifier: GPL-2.0-only
/* What delayed a timer's interrupt, if not all that turns them off is recorded: code with
 * interrupts off, or nothing that this CPU executed. */
#include "cause/cause.h"

#include <inttypes.h>
#include <string.h>

#include "text.h"
#include "units.h"

/* A shorter time at the end of the latency, a tenth of it, counts as none. */
#define SLACK 10

/* When this span shows for the last time that interrupts were on and the timer's was not pending: 0
 * if never. Interrupts above the timer's, and a switch of tasks, come right before it at the same
 * moment, so they count only if some time passes after them. */
static uint64_t irqs_shown_on_until(const struct span *span, const struct findings *findings,
				    const struct facts *facts)
{
	uint64_t end = findings->irq_begin;
	uint64_t settled = end - (end - findings->late_begin) / SLACK;
	const char *name = findings_name(findings, span->name);
	bool is_below = facts->hardware.local_irqs_first &&
			(has_prefix(name, "irq ") || !strcmp(name, "local_timer"));
	uint64_t at = 0;

	switch ((enum span_kind)span->kind) {
	case SPAN_INTERRUPT:
		at = span->end < settled ? span->end : is_below ? span->begin : 0;
		break;
	case SPAN_SOFTIRQ:
		/* The kernel enables interrupts before the first and disables them after the last.
		 */
		at = span->end < end ? span->end : span->begin;
		break;
	case SPAN_THREAD:
	case SPAN_IDLE:
		at = span->begin < settled ? span->begin : 0;
		break;
	default:
		break;
	}
	return at > findings->late_begin && at < end ? at : 0;
}

/* The scheduler notes steal time when it switches tasks, or later: what may be from before the
 * latency does not count. */
static uint64_t certain_steal_time(const struct findings *findings, const struct facts *facts)
{
	const struct lane *tasks = &findings->spans->lanes[LANE_TASKS];
	uint32_t task = lane_innermost_at(tasks, findings->late_begin);
	uint64_t steal_ns = facts->hardware.late_steal_ns, before_ns = 0;

	if (!facts->hardware.since_ns || steal_ns == UINT64_MAX)
		return 0;
	if (task != SPAN_NONE && task == lane_innermost_at(tasks, facts->spike.actual_ns))
		before_ns = findings->late_begin - tasks->spans[task].begin;
	return steal_ns > before_ns ? steal_ns - before_ns : 0;
}

bool irq_latency_is_certain(const struct facts *facts)
{
	const struct hardware_facts *hardware = &facts->hardware;

	return facts->stack.irqs == IRQS_WERE_OFF && !hardware->hypervisor &&
	       !*hardware_blamed_name(hardware, facts->spike.latency_ns);
}

/* The clock device was set for the timer, or the timer was armed, when it was due already. */
static bool blame_timer_arming(struct cause *cause, const struct findings *findings,
			       enum cause_kind kind, uint64_t at)
{
	uint64_t time_ns = at > findings->late_begin ? at - findings->late_begin : 0;

	if (!cause_explains(findings, time_ns))
		return false;
	cause->kind = kind;
	cause->time_ns = time_ns;
	return true;
}

/* The last time before the timer's interrupt in which events are missing; NULL: none. */
static const struct span *find_last_gap(const struct findings *findings)
{
	const struct lane *gaps = &findings->spans->lanes[LANE_GAPS];
	const struct span *last = NULL;

	for (uint32_t i = 0; i < gaps->nr; i++) {
		if (span_time_within(&gaps->spans[i], findings->late_begin, findings->irq_begin))
			last = &gaps->spans[i];
	}
	return last;
}

void irq_latency_blame(struct cause *cause, const struct findings *findings,
		       const struct facts *facts)
{
	/* The idle task waits for the interrupt. */
	size_t culprit = facts->spike.idle ? STACK_NONE : spike_stack_culprit(&facts->stack);
	static const enum lane_number lanes[] = { LANE_CODE, LANE_TASKS };
	const struct arming *arming = &findings->spans->arming;
	const struct span *gap;
	uint64_t off_ns;

	if (facts_is_thread(facts) ||
	    blame_timer_arming(cause, findings, CAUSE_ARMED_PAST, arming->at))
		return;
	if (cause_explains(findings, certain_steal_time(findings, facts))) {
		cause->kind = CAUSE_OUTSIDE;
		cause->steal_ns = certain_steal_time(findings, facts);
	}
	if (findings->spans->has_irqs_off || cause->steal_ns ||
	    blame_timer_arming(cause, findings, CAUSE_REARMED_LATE, arming->rearmed))
		return;
	/* The last moment at which interrupts are known to have been on */
	for (size_t i = 0; i < ARRAY_SIZE(lanes); i++) {
		const struct lane *lane = &findings->spans->lanes[lanes[i]];

		for (uint32_t j = 0; j < lane->nr && lane->spans[j].begin < findings->irq_begin;
		     j++) {
			uint64_t at = irqs_shown_on_until(&lane->spans[j], findings, facts);

			if (at <= cause->irqs_on)
				continue;
			cause->irqs_on = at;
			cause->irqs_on_by = lane->spans[j].name;
		}
	}
	gap = find_last_gap(findings);
	off_ns = findings->irq_begin - (cause->irqs_on ?: findings->late_begin);
	/* Whatever ran before would have been interrupted. */
	if (cause->irqs_on && !cause_explains(findings, off_ns))
		cause->kind = CAUSE_OUTSIDE;
	/* Softirqs and tasks run with interrupts on, unless they disable them. */
	if (cause->kind != CAUSE_THREAD && cause->kind != CAUSE_SOFTIRQ &&
	    cause->kind != CAUSE_MIXED)
		return;
	/* What came in a gap is not known, nor whether it had interrupts on. */
	if (gap && gap->end > cause->irqs_on)
		off_ns = findings->irq_begin - gap->end;
	if (gap && gap->end > cause->irqs_on && !cause_explains(findings, off_ns)) {
		cause->kind = CAUSE_LOST;
		cause->name = gap->name;
		cause->time_ns = span_time_within(gap, findings->late_begin, findings->irq_begin);
		return;
	}
	if (culprit == STACK_NONE) {
		if (spike_stack_open(&facts->stack) != STACK_NONE)
			cause->kind = CAUSE_OUTSIDE;
		return;
	}
	cause->kind = irq_latency_is_certain(facts) ? CAUSE_IRQS_OFF : CAUSE_IRQS_OFF_OR_OUTSIDE;
	cause->time_ns = off_ns;
	cause->name = names_add(findings->spans->names, facts->stack.frames[culprit].name);
	cause->frame = culprit;
}

static const char *task_at_interrupt(const struct findings *findings, const struct facts *facts)
{
	const struct lane *tasks = &findings->spans->lanes[LANE_TASKS];
	uint32_t task = lane_innermost_at(tasks, facts->spike.actual_ns);

	return task == SPAN_NONE ? "it" : findings_name(findings, tasks->spans[task].name);
}

static const char *outsider_names(const struct hardware_facts *hardware)
{
	if (!hardware->hypervisor)
		return "hardware or firmware";
	return hardware->hypervisor == 1 ? "hardware, firmware or the hypervisor"
					 : "hardware, firmware or a hypervisor";
}

void irq_latency_put_off(FILE *file, const struct cause *cause, const struct findings *findings,
			 const struct facts *facts)
{
	bool maybe = cause->kind == CAUSE_IRQS_OFF_OR_OUTSIDE;

	fprintf(file, "%s%s with interrupts off while %s ran, until they were enabled in ",
		maybe ? "either " : "", FORMAT_TIME(cause->time_ns),
		task_at_interrupt(findings, facts));
	spike_stack_put_frame(file, &facts->stack.frames[cause->frame]);
	spike_stack_put_callers(file, &facts->stack, cause->frame, ", called from ");
	if (maybe && facts->hardware.hypervisor == 1)
		fputs(", or the hypervisor ran something else", file);
	else if (maybe)
		fprintf(file, ", or %s delayed the interrupt", outsider_names(&facts->hardware));
}

void irq_latency_put_arming(FILE *file, const struct cause *cause, const struct findings *findings,
			    const struct facts *facts)
{
	const struct lane *tasks = &findings->spans->lanes[LANE_TASKS];
	uint32_t task = lane_innermost_at(tasks, findings->late_begin + cause->time_ns);

	if (cause->kind == CAUSE_ARMED_PAST)
		fprintf(file, "the timer was armed in the past, %s after it was due",
			FORMAT_TIME(cause->time_ns));
	else
		fprintf(file,
			"the clock device was set again %s after the timer was due, at the end of "
			"a timer interrupt (hrtimer_rearm)",
			FORMAT_TIME(cause->time_ns));
	if (task != SPAN_NONE)
		fprintf(file, ", while %s ran", findings_name(findings, tasks->spans[task].name));
	if (cause->kind == CAUSE_REARMED_LATE && facts->hardware.hypervisor == 1)
		fputs("; the hypervisor may have run something else before that", file);
}

void irq_latency_put_outside(FILE *file, const struct cause *cause, const struct findings *findings,
			     const struct facts *facts)
{
	const struct spike_stack *stack = &facts->stack;
	size_t hit = spike_stack_open(stack);

	if (hit == STACK_NONE)
		hit = spike_stack_culprit(stack);
	if (cause->steal_ns)
		hardware_put_steal(file, cause->steal_ns, facts->spike.latency_ns);
	else
		fprintf(file, "%s delayed it, not kernel code", outsider_names(&facts->hardware));
	fprintf(file, ": the interrupt came while %s ran", task_at_interrupt(findings, facts));
	if (hit != STACK_NONE) {
		fprintf(file, ", in %s", stack->frames[hit].user ? "user space, in " : "");
		spike_stack_put_frame(file, &stack->frames[hit]);
	}
	if (cause->irqs_on)
		fprintf(file, "; interrupts were on %s into that, as %s shows",
			FORMAT_TIME(cause->irqs_on - findings->late_begin),
			findings_name(findings, cause->irqs_on_by));
}
