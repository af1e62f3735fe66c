// SPDX-License-Identifier: GPL-2.0-only
#include "cause.h"

#include <inttypes.h>
#include <string.h>

#include "units.h"

#define CALLERS_MAX 3

static const struct lane *code_of(const struct findings *findings)
{
	return &findings->spans->lanes[LANE_CODE];
}

static const char *name_of(const struct findings *findings, uint32_t name)
{
	return names_get(findings->spans->names, name);
}

/* A cause must account for at least half of the latency. */
static bool explains(const struct findings *findings, uint64_t time_ns)
{
	return time_ns && time_ns >= (findings->latency_ns + 1) / 2;
}

/* Returns the code span of this kind (SPAN_NR_KINDS: any) and name that took the most time; *nr is
 * the number of such spans. */
static uint32_t find_span(const struct findings *findings, enum span_kind kind, uint32_t name,
			  uint64_t *nr)
{
	const struct lane *code = code_of(findings);
	uint32_t found = SPAN_NONE;
	uint64_t longest = 0;

	for (uint32_t i = 0; i < code->nr; i++) {
		const struct span *span = &code->spans[i];
		uint64_t time_ns = span_within(span, findings->late_begin, findings->late_end);

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

/* The innermost function that took most of a span's time, summed over its calls. */
static int find_mostly(struct cause *cause, const struct findings *findings)
{
	const struct lane *code = code_of(findings);
	const struct span *outer = &code->spans[cause->span];
	uint64_t begin = outer->begin > findings->late_begin ? outer->begin : findings->late_begin;
	uint64_t end = outer->end < findings->late_end ? outer->end : findings->late_end;
	uint32_t nr_names = names_count(findings->spans->names);
	_cleanup_free_ uint64_t *times = calloc(nr_names, sizeof(*times));
	uint16_t depth = outer->depth;

	if (!times)
		return -ENOMEM;
	for (uint32_t i = cause->span + 1; i < code->nr && code->spans[i].depth > outer->depth;
	     i++) {
		const struct span *span = &code->spans[i];

		if (span->name == outer->name || code->spans[span->parent].name == span->name)
			continue;
		times[span->name] += span_within(span, begin, end);
		if (span->depth <= depth || times[span->name] < (end - begin) / 5 * 4 ||
		    end == begin)
			continue;
		depth = span->depth;
		cause->mostly = span->name;
	}
	return 0;
}

/* The same for everything that ran while a thread was late. */
static int find_mostly_of_all(struct cause *cause, const struct findings *findings)
{
	const struct lane *code = code_of(findings);
	_cleanup_free_ uint64_t *times =
		calloc(names_count(findings->spans->names), sizeof(*times));
	uint64_t nr = 0;
	int depth = -1;

	if (!times)
		return -ENOMEM;
	for (uint32_t i = 0; i < code->nr; i++) {
		const struct span *span = &code->spans[i];

		if (span->parent != SPAN_NONE && code->spans[span->parent].name == span->name)
			continue;
		times[span->name] += span_within(span, findings->late_begin, findings->late_end);
		if (span->depth <= depth || times[span->name] < cause->time_ns / 5 * 4)
			continue;
		depth = span->depth;
		cause->mostly = span->name;
	}
	if (cause->mostly)
		cause->mostly_span = find_span(findings, SPAN_NR_KINDS, cause->mostly, &nr);
	return 0;
}

/* Names what turned interrupts off. */
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
	by = &code_of(findings)->spans[cause->span];
	cause->name = by->name;
	/* Entering an interrupt turns interrupts off. */
	if (kinds[by->kind] && by->name == off->name)
		cause->kind = kinds[by->kind];
	return 0;
}

static const struct span *longest_off(const struct findings *findings, uint64_t *time_ns)
{
	const struct lane *lane = &findings->spans->lanes[LANE_IRQS_OFF];
	const struct span *found = NULL;

	*time_ns = 0;
	for (uint32_t i = 0; i < lane->nr; i++) {
		uint64_t late_ns =
			span_within(&lane->spans[i], findings->late_begin, findings->late_end);

		if (late_ns > *time_ns) {
			*time_ns = late_ns;
			found = &lane->spans[i];
		}
	}
	return found;
}

static const struct usage *longest_usage(const struct findings *findings)
{
	const struct usage *found = NULL;

	for (size_t i = 0; i < findings->nr_budget; i++) {
		const struct usage *usage = &findings->budget[i];

		if (usage->late_ns && (!found || usage->late_ns > found->late_ns))
			found = usage;
	}
	return found;
}

static void blame_usage(struct cause *cause, const struct findings *findings,
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
	cause->span = find_span(findings, usage->kind, usage->name, &cause->count);
	/* If functions and interrupts-off spans are known, a running thread is no reason for a late
	 * timer. It is one for a late thread. */
	if (cause->kind == CAUSE_THREAD && findings->spans->has_irqs_off && !facts->thread)
		cause->kind = CAUSE_NONE;
	if (!explains(findings, usage->late_ns))
		cause->kind = CAUSE_MIXED;
}

/* Vectors that CPUs send each other. */
static bool is_from_cpu(const char *vector)
{
	return !strncmp(vector, "call_function", 13) || !strcmp(vector, "reschedule") ||
	       !strcmp(vector, "irq_work");
}

/* Whether the blamed code still runs when the timer's interrupt arrives, that is, was interrupted
 * by it. */
static bool goes_on(const struct cause *cause, const struct findings *findings,
		    const struct facts *facts)
{
	const struct lane *code = code_of(findings);

	for (uint32_t i = lane_at(code, facts->actual_ns); i != SPAN_NONE;
	     i = code->spans[i].parent) {
		if (code->spans[i].kind == code->spans[cause->span].kind &&
		    code->spans[i].name == cause->name)
			return true;
	}
	return false;
}

/* A function call is matched by its function. For another interrupt, the sender is the last one
 * before it. */
static void find_sender(struct cause *cause, const struct findings *findings,
			const struct facts *facts)
{
	const struct span *span;

	if (!facts->senders || cause->kind != CAUSE_INTERRUPT || cause->span == SPAN_NONE)
		return;
	span = &code_of(findings)->spans[cause->span];
	if (cause->mostly)
		cause->sender =
			senders_find(facts->senders, span->begin, name_of(findings, cause->mostly));
	if (!cause->sender)
		cause->sender =
			senders_find(facts->senders, span->begin, name_of(findings, cause->name));
	if (!cause->sender && is_from_cpu(name_of(findings, cause->name)))
		cause->sender = senders_find(facts->senders, span->begin, NULL);
}

/* Events do not show functions, but a delayed timer interrupt fires at the instruction that turns
 * interrupts on: the code there is what kept them off. */
static void blame_stack(struct cause *cause, const struct findings *findings,
			const struct facts *facts)
{
	size_t culprit = spike_stack_culprit(&facts->stack);

	if (findings->spans->has_functions || facts->thread || culprit == STACK_NONE)
		return;
	if (cause->kind == CAUSE_IDLE && spike_stack_is_idle(&facts->stack))
		return;
	if ((cause->kind == CAUSE_INTERRUPT || cause->kind == CAUSE_SOFTIRQ) &&
	    !goes_on(cause, findings, facts))
		return;
	if (cause->kind == CAUSE_THREAD || cause->kind == CAUSE_IDLE) {
		cause->kind = CAUSE_IRQS_OFF;
		cause->name = names_add(findings->spans->names, facts->stack.frames[culprit].name);
	}
	cause->frame = culprit;
}

/* These take precedence over interrupts off: they are unknown, or part of it. */
static bool goes_first(enum span_kind kind)
{
	return kind == SPAN_LOST || kind == SPAN_UNTRACED || kind == SPAN_IDLE || kind == SPAN_NMI;
}

int cause_find(struct cause *cause, const struct findings *findings, const struct facts *facts)
{
	const struct usage *usage = longest_usage(findings);
	const struct span *off;
	uint64_t off_ns;
	int r = 0;

	*cause = (struct cause){
		.kind = CAUSE_NONE,
		.span = SPAN_NONE,
		.frame = STACK_NONE,
		.mostly_span = SPAN_NONE,
	};
	if (facts->poked) {
		cause->kind = CAUSE_POKED;
		return 0;
	}
	/* Most of the latency was not recorded. */
	if (facts->no_times || !explains(findings, findings->late_end - findings->late_begin))
		return 0;
	off = longest_off(findings, &off_ns);
	if (usage && goes_first(usage->kind) && explains(findings, usage->late_ns))
		blame_usage(cause, findings, facts, usage);
	else if (off && explains(findings, off_ns))
		r = blame_irqs_off(cause, findings, off, off_ns);
	else if (usage)
		blame_usage(cause, findings, facts, usage);
	blame_stack(cause, findings, facts);
	if (!r && cause->kind == CAUSE_THREAD && findings->spans->has_functions)
		return find_mostly_of_all(cause, findings);
	if (r || cause->span == SPAN_NONE)
		return r;
	if (!code_of(findings)->spans[cause->span].cut) {
		cause->insns = code_of(findings)->spans[cause->span].insns;
		cause->cycles = code_of(findings)->spans[cause->span].cycles;
	}
	r = find_mostly(cause, findings);
	find_sender(cause, findings, facts);
	return r;
}

const char *cause_kind_name(enum cause_kind kind)
{
	static const char *const names[] = {
		[CAUSE_NONE] = "none",		 [CAUSE_POKED] = "poked",
		[CAUSE_IRQS_OFF] = "irqs_off",	 [CAUSE_INTERRUPT] = "interrupt",
		[CAUSE_SOFTIRQ] = "softirq",	 [CAUSE_NMI] = "nmi",
		[CAUSE_EXCEPTION] = "exception", [CAUSE_IDLE] = "idle",
		[CAUSE_THREAD] = "thread",	 [CAUSE_UNTRACED] = "untraced",
		[CAUSE_LOST] = "lost",		 [CAUSE_MIXED] = "mixed",
	};
	_Static_assert(ARRAY_SIZE(names) == CAUSE_NR, "each has a name");

	return names[kind];
}

/* Appends () to function names, but not to placeholders such as [unknown]. */
static void put_function(FILE *file, const char *name)
{
	fprintf(file, "%s%s", name, name[0] == '[' ? "" : "()");
}

static void put_named(FILE *file, const struct cause *cause, const struct findings *findings,
		      uint32_t name)
{
	if (findings->spans->has_functions && cause->span != SPAN_NONE)
		put_function(file, name_of(findings, name));
	else
		fputs(name_of(findings, name), file);
}

/* The callers of a span, innermost first. */
static void put_callers(FILE *file, const struct findings *findings, uint32_t span,
			const char *before)
{
	const struct lane *code = code_of(findings);
	size_t nr = 0;

	for (uint32_t i = span; i != SPAN_NONE; i = code->spans[i].parent) {
		if (nr == CALLERS_MAX) {
			fputs(" < ...", file);
			return;
		}
		fputs(nr++ ? " < " : before, file);
		put_function(file, name_of(findings, code->spans[i].name));
	}
}

static void put_mostly(FILE *file, const struct cause *cause, const struct findings *findings)
{
	if (!cause->mostly)
		return;
	fputs(", most of it in ", file);
	put_named(file, cause, findings, cause->mostly);
}

static void put_around(FILE *file, const struct cause *cause, const struct findings *findings,
		       const char *before)
{
	if (cause->span != SPAN_NONE && findings->spans->has_functions)
		put_callers(file, findings, code_of(findings)->spans[cause->span].parent, before);
}

/* The trigger saw which task the timer's interrupt hit. If the cause came earlier, another task may
 * have been running: then say so. */
static void put_task(FILE *file, const struct findings *findings, const struct facts *facts,
		     uint64_t at)
{
	const struct lane *tasks = &findings->spans->lanes[LANE_TASKS];
	uint32_t task = lane_at(tasks, at);
	char text[96];

	if (task == SPAN_NONE)
		return;
	if (!facts->thread && task == lane_at(tasks, facts->actual_ns))
		fprintf(file, ", interrupting %s", facts_task(facts, text, sizeof(text)));
	else
		fprintf(file, ", which came while %s ran",
			name_of(findings, tasks->spans[task].name));
}

/* With events: the stack at the spike. */
static void put_frame(FILE *file, const struct cause *cause, const struct facts *facts,
		      const char *before)
{
	if (cause->frame == STACK_NONE)
		return;
	fputs(before, file);
	spike_stack_put_frame(file, &facts->stack.frames[cause->frame]);
	spike_stack_put_callers(file, &facts->stack, cause->frame, ", called from ");
}

static void put_irqs_off(FILE *file, const struct cause *cause, const struct findings *findings,
			 const struct facts *facts)
{
	const struct lane *tasks = &findings->spans->lanes[LANE_TASKS];
	uint32_t task = lane_at(tasks, facts->actual_ns);

	if (cause->frame == STACK_NONE) {
		fprintf(file, "%s in ", FORMAT_TIME(cause->time_ns));
		put_function(file, name_of(findings, cause->name));
		fputs(" with interrupts off", file);
		put_mostly(file, cause, findings);
		put_around(file, cause, findings, ", called from ");
		return;
	}
	fprintf(file, "%s with interrupts off while %s ran", FORMAT_TIME(cause->time_ns),
		task == SPAN_NONE ? "it" : name_of(findings, tasks->spans[task].name));
	put_frame(file, cause, facts, ", until they were on again in ");
}

static void put_interrupt(FILE *file, const struct cause *cause, const struct findings *findings,
			  const struct facts *facts, const char *what)
{
	fprintf(file, "%s in %s ", FORMAT_TIME(cause->time_ns), what);
	put_named(file, cause, findings, cause->name);
	if (cause->count > 1)
		fprintf(file, ", that came %" PRIu64 " times", cause->count);
	put_mostly(file, cause, findings);
	if (cause->sender)
		sender_put(file, cause->sender);
	put_frame(file, cause, facts, ", at last in ");
	put_around(file, cause, findings, ", interrupting ");
	if (!findings->spans->has_functions && cause->span != SPAN_NONE)
		put_task(file, findings, facts, code_of(findings)->spans[cause->span].begin);
}

/* The code that ran at the timer's expected expiry. */
static void put_path(FILE *file, const struct findings *findings)
{
	if (findings->path != SPAN_NONE && findings->spans->has_functions)
		put_callers(file, findings, findings->path, ", at first in ");
}

static void put_none(FILE *file, const struct cause *cause, const struct findings *findings)
{
	if (!explains(findings, findings->late_end - findings->late_begin)) {
		fputs("what is recorded does not reach back to when it was to expire", file);
		return;
	}
	fputs("nothing in the window explains it", file);
	if (!cause->name)
		return;
	fprintf(file, ": interrupts were on most of the time, and %s ran",
		name_of(findings, cause->name));
	put_path(file, findings);
}

bool cause_switched(const struct cause *cause, const struct findings *findings,
		    const struct facts *facts)
{
	const char *name = name_of(findings, cause->name), *tid = strrchr(name, ' ');

	return facts->thread && !facts->reported && facts->stack.tid > 0 && tid &&
	       atoi(tid + 1) == facts->stack.tid &&
	       spike_stack_switched(&facts->stack) != STACK_NONE;
}

static void put_thread(FILE *file, const struct cause *cause, const struct findings *findings,
		       const struct facts *facts)
{
	fprintf(file, "%s%s ran for %s of that", facts->reported ? "" : "blocking thread ",
		name_of(findings, cause->name), FORMAT_TIME(cause->time_ns));
	if (cause->mostly) {
		fputs(", most of it in ", file);
		put_function(file, name_of(findings, cause->mostly));
	}
	if (cause->mostly_span != SPAN_NONE)
		put_callers(file, findings, code_of(findings)->spans[cause->mostly_span].parent,
			    ", called from ");
	else if (findings->spans->has_functions)
		put_path(file, findings);
	else if (cause_switched(cause, findings, facts))
		spike_stack_put_switched(file, &facts->stack);
	else if (!facts->thread && spike_stack_open(&facts->stack) != STACK_NONE)
		spike_stack_put_open(file, &facts->stack);
	else
		fputs(facts->thread ? "; what it executed is not recorded"
				    : "; whether with interrupts off, events do not show",
		      file);
}

static void put_mixed(FILE *file, const struct cause *cause, const struct findings *findings)
{
	fprintf(file, "nothing took even half of that; the most, %s, is of ",
		FORMAT_TIME(cause->time_ns));
	fprintf(file, "%s",
		name_of(findings, cause->name)[0] ? name_of(findings, cause->name)
						  : "what is not known");
}

static void put_cause(FILE *file, const struct cause *cause, const struct findings *findings,
		      const struct facts *facts)
{
	switch (cause->kind) {
	case CAUSE_IRQS_OFF:
		put_irqs_off(file, cause, findings, facts);
		break;
	case CAUSE_INTERRUPT:
		put_interrupt(file, cause, findings, facts, "interrupt");
		break;
	case CAUSE_SOFTIRQ:
		put_interrupt(file, cause, findings, facts, "softirq");
		break;
	case CAUSE_NMI:
		put_interrupt(file, cause, findings, facts, "NMI");
		break;
	case CAUSE_EXCEPTION:
		put_interrupt(file, cause, findings, facts, "exception");
		break;
	case CAUSE_IDLE:
		fprintf(file, "exit from idle: the CPU was idle for %s of that, in ",
			FORMAT_TIME(cause->time_ns));
		put_named(file, cause, findings, cause->name);
		fputs(findings->spans->has_functions
			      ? ", and slow to leave"
			      : ", and no interrupt is recorded in that time",
		      file);
		break;
	case CAUSE_THREAD:
		put_thread(file, cause, findings, facts);
		break;
	case CAUSE_UNTRACED:
		fprintf(file, "%s in %s", FORMAT_TIME(cause->time_ns),
			*name_of(findings, cause->name) == '[' ? "code of which there is no trace"
							       : name_of(findings, cause->name));
		put_around(file, cause, findings, ", called from ");
		break;
	case CAUSE_LOST:
		fprintf(file, "the trace of %s of that is missing", FORMAT_TIME(cause->time_ns));
		break;
	case CAUSE_MIXED:
		put_mixed(file, cause, findings);
		break;
	case CAUSE_NONE:
	case CAUSE_POKED:
	case CAUSE_NR:
		put_none(file, cause, findings);
		break;
	}
}

/* Without a trace: where the interrupt arrived, if that tells what delayed it. */
static void put_by_stack(FILE *file, const struct facts *facts)
{
	const struct spike_stack *stack = &facts->stack;
	size_t frame = spike_stack_culprit(stack);

	if (frame == STACK_NONE)
		frame = spike_stack_open(stack);
	if (facts->thread || frame == STACK_NONE) {
		fputs(facts->perf ? "why is in the trace of the perf that was poked"
				  : "nothing was recorded that tells why",
		      file);
		return;
	}
	fputs("the interrupt came in ", file);
	spike_stack_put_frame(file, &stack->frames[frame]);
	spike_stack_put_callers(file, stack, frame, ", called from ");
	if (facts->perf)
		fputs("; the perf that was poked has the trace", file);
}

static void put_why(FILE *file, const struct cause *cause, const struct findings *findings,
		    const struct facts *facts)
{
	if (!facts_have_trace(facts))
		put_by_stack(file, facts);
	else if (facts->no_times)
		fputs("the trace has no times, for TSC was not perf's clock", file);
	else
		put_cause(file, cause, findings, facts);
}

char *cause_sentence(const struct cause *cause, const struct findings *findings,
		     const struct facts *facts)
{
	char *text = NULL, task[96];
	size_t size;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return NULL;
	if (cause->kind == CAUSE_POKED) {
		fputs("this capture was asked for: no timer was late", file);
	} else if (facts->reported && !facts->latency_ns) {
		fprintf(file, "%s, in %s", facts_late(facts),
			facts_task(facts, task, sizeof(task)));
	} else {
		facts_put_late(file, facts);
		if (!facts->noise || facts->pt)
			put_why(file, cause, findings, facts);
		samples_put(file, &findings->samples, findings->spans->names, "; ");
		hardware_put(file, &facts->hardware, &findings->spans->power, facts->expected_ns,
			     facts->latency_ns);
	}
	if (fclose(file))
		free(TAKE_PTR(text));
	return text;
}
