// SPDX-License-Identifier: GPL-2.0-only
#include "cause/account.h"

#include <errno.h>
#include <stdlib.h>

#include "array.h"
#include "cause/fingerprint.h"
#include "code/symbolizer.h"

/* The trace has no times. */
#define WINDOW_INSNS 20000

static int account_make_findings(struct account *account)
{
	struct findings *findings = &account->findings;
	const struct spans *spans = account->spans;
	struct facts facts = account->facts;
	int err;

	if (!facts.no_times)
		return findings_make(findings, spans, &facts, account->window_ns);
	/* Positions are instruction counts; only the end has a time. */
	facts.spike.expected_ns = facts.spike.actual_ns = facts.spike.time_ns = spans->end;
	err = findings_make(findings, spans, &facts, WINDOW_INSNS);
	if (!err)
		findings->path = lane_innermost_at_end(&spans->lanes[LANE_CODE], spans->end);
	return err;
}

/* The part of a late thread's latency that is most of it, as a latency of its own: so far as a CPU
 * explains it, it is explained in one way for threads and interrupts. */
static void limit_facts_to_part(struct facts *part, const struct late_thread *thread)
{
	struct perf_poke_spike *spike = &part->spike;
	const struct thread_stay *longest = &thread->longest;
	bool is_one = longest->end - longest->begin >= thread->part_ns / 5 * 4;

	switch (thread->part) {
	case PART_INTERRUPT:
		spike->kind = PERF_POKE_TRIGGER_IRQ;
		spike->actual_ns = spike->expected_ns + spike->irq_ns;
		part->stack = part->holder.interrupted ? part->holder : (struct spike_stack){ 0 };
		break;
	case PART_RUNNABLE:
		if (facts_is_reported(part)) {
			spike->kind = PERF_POKE_TRIGGER_WAKEUP;
			spike->irq_ns = 0;
			part->stack = (struct spike_stack){ 0 };
			part->holder = thread->rival;
		} else {
			is_one = false;
		}
		break;
	case PART_RUNNING:
		break;
	case PART_MIXED:
	case PART_UNKNOWN:
	case PART_ASLEEP:
		is_one = false;
		break;
	}
	if (is_one && thread->part != PART_INTERRUPT) {
		spike->expected_ns = longest->begin;
		spike->actual_ns = longest->end;
	}
	spike->latency_ns = spike->actual_ns - spike->expected_ns;
}

int account_finish(struct account *account)
{
	const struct findings *findings = &account->findings;
	struct findings of_part = { 0 };
	int err = account_make_findings(account);

	account->blamed = account->facts;
	/* A task reported late may have run all the time. */
	if (!err && facts_have_times(&account->facts) && !account->facts.spike.poked &&
	    !facts_is_reported(&account->facts))
		err = analysis_make(&account->analysis, &account->findings, &account->facts);
	/* The trigger has seen what took the CPU. */
	if (facts_are_of_noise(&account->facts))
		account->blamed.thread = NULL;
	if (!err && account->blamed.thread) {
		limit_facts_to_part(&account->blamed, account->thread);
		err = findings_make(&of_part, account->spans, &account->blamed, account->window_ns);
		findings = &of_part;
	}
	if (!err)
		err = cause_find(&account->cause, findings, &account->blamed);
	if (!err) {
		fingerprint_make(&account->fingerprint, &account->cause, findings,
				 &account->blamed);
		account->sentence = cause_sentence(&account->cause, findings, &account->blamed,
						   &account->facts);
		err = account->sentence ? 0 : -ENOMEM;
	}
	findings_release(&of_part);
	return err;
}

void account_release_spans(struct account *account)
{
	free(account->senders);
	late_thread_free(account->thread);
	spans_free(account->spans);
	account->senders = NULL;
	account->thread = NULL;
	account->spans = NULL;
	account->facts.senders = NULL;
	account->facts.thread = NULL;
}

void account_release(struct account *account)
{
	free(account->sentence);
	analysis_release(&account->analysis);
	findings_release(&account->findings);
	account_release_spans(account);
	symbolizer_free(account->symbolizer);
	*account = (struct account){ 0 };
}

size_t account_callers_before(const struct account *account, const struct span *span)
{
	const struct spike_stack *stack = &account->facts.stack;
	size_t at = STACK_NONE;

	if (account->spans->has_functions && span->end >= account->spans->end)
		at = spike_stack_find(stack, account_name(account, span->name));
	return at == STACK_NONE ? stack->nr : at + 1;
}

/* A usage has rows for the time before, in and after the timer's IRQ. More rows: the delay, two
 * latencies, gaps in the trace. */
#define ROWS_OF_USAGE 3
#define ROWS_OF_TOTALS 4

const char *analysis_term(enum analysis_kind kind)
{
	static const char *const terms[] = {
		[ANALYSIS_PREVIOUS_IRQ] = "Previous IRQ interference",
		[ANALYSIS_IRQ_DELAY] = "IRQ handler delay",
		[ANALYSIS_TIMER_IRQ] = "Timer IRQ duration",
		[ANALYSIS_BLOCKING_THREAD] = "Blocking thread",
		[ANALYSIS_NMI] = "NMI interference",
		[ANALYSIS_IRQ] = "IRQ interference",
		[ANALYSIS_SOFTIRQ] = "Softirq interference",
		[ANALYSIS_THREAD] = "Thread interference",
		[ANALYSIS_UNKNOWN] = "not recorded",
		[ANALYSIS_IRQ_LATENCY] = "IRQ latency",
		[ANALYSIS_THREAD_LATENCY] = "Thread latency",
	};
	_Static_assert(ARRAY_SIZE(terms) == ANALYSIS_NR, "each has its words");

	return terms[kind];
}

static struct analysis_row *analysis_row_of(struct analysis *analysis, enum analysis_kind kind,
					    uint32_t name)
{
	for (size_t i = 0; i < analysis->nr; i++) {
		if (analysis->rows[i].kind == kind && analysis->rows[i].name == name)
			return &analysis->rows[i];
	}
	analysis->rows[analysis->nr] = (struct analysis_row){ kind, name, "", 0 };
	return &analysis->rows[analysis->nr++];
}

static void analysis_add_time(struct analysis *analysis, enum analysis_kind kind, uint32_t name,
			      uint64_t time_ns)
{
	if (time_ns)
		analysis_row_of(analysis, kind, name)->time_ns += time_ns;
}

static void analysis_add_usage(struct analysis *analysis, const struct usage *usage,
			       uint32_t blocking, bool thread)
{
	static const enum analysis_kind kinds[SPAN_NR_KINDS] = {
		[SPAN_SOFTIRQ] = ANALYSIS_SOFTIRQ,  [SPAN_NMI] = ANALYSIS_NMI,
		[SPAN_EXCEPTION] = ANALYSIS_THREAD, [SPAN_IDLE] = ANALYSIS_BLOCKING_THREAD,
		[SPAN_THREAD] = ANALYSIS_THREAD,    [SPAN_UNTRACED] = ANALYSIS_UNKNOWN,
		[SPAN_LOST] = ANALYSIS_UNKNOWN,
	};
	bool blocks = usage->kind == SPAN_THREAD && usage->name == blocking;

	if (usage->kind != SPAN_INTERRUPT) {
		analysis_add_time(analysis, blocks ? ANALYSIS_BLOCKING_THREAD : kinds[usage->kind],
				  usage->name,
				  usage->late_ns - (thread ? usage->before_irq_ns : 0));
		return;
	}
	analysis_add_time(analysis, ANALYSIS_PREVIOUS_IRQ, usage->name, usage->before_irq_ns);
	analysis_add_time(analysis, ANALYSIS_TIMER_IRQ, usage->name, usage->in_irq_ns);
	analysis_add_time(analysis, ANALYSIS_IRQ, usage->name,
			  usage->late_ns - usage->before_irq_ns - usage->in_irq_ns);
}

static void analysis_add_totals(struct analysis *analysis, const struct findings *findings,
				const struct facts *facts)
{
	uint64_t irq_ns = facts_is_thread(facts) ? facts->spike.irq_ns : findings->latency_ns;

	analysis_add_time(analysis, ANALYSIS_UNKNOWN, 0,
			  findings->latency_ns - (findings->late_end - findings->late_begin));
	if (findings->left_out_ns)
		analysis_row_of(analysis, ANALYSIS_UNKNOWN, 0)->note = "(before the window)";
	if (irq_ns && findings->irq_begin > facts->spike.expected_ns) {
		struct analysis_row *delay = analysis_row_of(analysis, ANALYSIS_IRQ_DELAY, 0);
		uint64_t idle_ns = 0;

		for (size_t i = 0; i < findings->nr_budget; i++) {
			if (findings->budget[i].kind == SPAN_IDLE)
				idle_ns += findings->budget[i].before_irq_ns;
		}
		delay->time_ns = findings->irq_begin - facts->spike.expected_ns;
		if (2 * idle_ns > findings->irq_begin - findings->late_begin)
			delay->note = "(exit from idle)";
	}
	analysis_add_time(analysis, ANALYSIS_IRQ_LATENCY, 0, irq_ns);
	if (facts_is_thread(facts))
		analysis_add_time(analysis, ANALYSIS_THREAD_LATENCY, 0, findings->latency_ns);
}

static int compare_analysis_rows(const void *a, const void *b)
{
	const struct analysis_row *x = a, *y = b;

	return array_compare(x->kind, y->kind)
		       ?: array_compare(y->time_ns, x->time_ns)
		       ?: array_compare(x->name, y->name);
}

int analysis_make(struct analysis *analysis, const struct findings *findings,
		  const struct facts *facts)
{
	const struct lane *tasks = &findings->spans->lanes[LANE_TASKS];
	uint32_t task = lane_innermost_at(tasks, findings->irq_begin);

	/* If the trace ends without the timer's interrupt, that hit the last task. */
	if (task == SPAN_NONE && findings->irq_begin >= findings->spans->end)
		task = lane_innermost_at_end(tasks, findings->irq_begin);
	*analysis = (struct analysis){
		.rows = calloc(findings->nr_budget * ROWS_OF_USAGE + ROWS_OF_TOTALS,
			       sizeof(*analysis->rows)),
	};
	if (!analysis->rows)
		return -ENOMEM;
	for (size_t i = 0; i < findings->nr_budget; i++)
		analysis_add_usage(analysis, &findings->budget[i],
				   task == SPAN_NONE ? 0 : tasks->spans[task].name,
				   facts_is_thread(facts));
	analysis_add_totals(analysis, findings, facts);
	qsort(analysis->rows, analysis->nr, sizeof(*analysis->rows), compare_analysis_rows);
	return 0;
}

void analysis_release(struct analysis *analysis)
{
	free(analysis->rows);
	*analysis = (struct analysis){ 0 };
}
