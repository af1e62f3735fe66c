// SPDX-License-Identifier: GPL-2.0-only
#include "cause/analysis.h"

#include "array.h"

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

static struct analysis_row *find_row(struct analysis *analysis, enum analysis_kind kind,
				     uint32_t name)
{
	for (size_t i = 0; i < analysis->nr; i++) {
		if (analysis->rows[i].kind == kind && analysis->rows[i].name == name)
			return &analysis->rows[i];
	}
	analysis->rows[analysis->nr] = (struct analysis_row){ kind, name, "", 0 };
	return &analysis->rows[analysis->nr++];
}

static void add(struct analysis *analysis, enum analysis_kind kind, uint32_t name, uint64_t time_ns)
{
	if (time_ns)
		find_row(analysis, kind, name)->time_ns += time_ns;
}

static void add_usage(struct analysis *analysis, const struct usage *usage, uint32_t blocking,
		      bool thread)
{
	static const enum analysis_kind kinds[SPAN_NR_KINDS] = {
		[SPAN_SOFTIRQ] = ANALYSIS_SOFTIRQ,  [SPAN_NMI] = ANALYSIS_NMI,
		[SPAN_EXCEPTION] = ANALYSIS_THREAD, [SPAN_IDLE] = ANALYSIS_BLOCKING_THREAD,
		[SPAN_THREAD] = ANALYSIS_THREAD,    [SPAN_UNTRACED] = ANALYSIS_UNKNOWN,
		[SPAN_LOST] = ANALYSIS_UNKNOWN,
	};
	bool blocks = usage->kind == SPAN_THREAD && usage->name == blocking;

	if (usage->kind != SPAN_INTERRUPT) {
		add(analysis, blocks ? ANALYSIS_BLOCKING_THREAD : kinds[usage->kind], usage->name,
		    usage->late_ns - (thread ? usage->before_irq_ns : 0));
		return;
	}
	add(analysis, ANALYSIS_PREVIOUS_IRQ, usage->name, usage->before_irq_ns);
	add(analysis, ANALYSIS_TIMER_IRQ, usage->name, usage->in_irq_ns);
	add(analysis, ANALYSIS_IRQ, usage->name,
	    usage->late_ns - usage->before_irq_ns - usage->in_irq_ns);
}

static bool is_exit_from_idle(const struct findings *findings)
{
	uint64_t idle_ns = 0;

	for (size_t i = 0; i < findings->nr_budget; i++) {
		if (findings->budget[i].kind == SPAN_IDLE)
			idle_ns += findings->budget[i].before_irq_ns;
	}
	return 2 * idle_ns > findings->irq_begin - findings->late_begin;
}

static void add_totals(struct analysis *analysis, const struct findings *findings,
		       const struct facts *facts)
{
	uint64_t irq_ns = facts_is_thread(facts) ? facts->spike.irq_ns : findings->latency_ns;

	add(analysis, ANALYSIS_UNKNOWN, 0,
	    findings->latency_ns - (findings->late_end - findings->late_begin));
	if (findings->left_out_ns)
		find_row(analysis, ANALYSIS_UNKNOWN, 0)->note = "(before the window)";
	if (irq_ns && findings->irq_begin > facts->spike.expected_ns) {
		struct analysis_row *delay = find_row(analysis, ANALYSIS_IRQ_DELAY, 0);

		delay->time_ns = findings->irq_begin - facts->spike.expected_ns;
		delay->note = is_exit_from_idle(findings) ? "(exit from idle)" : "";
	}
	add(analysis, ANALYSIS_IRQ_LATENCY, 0, irq_ns);
	if (facts_is_thread(facts))
		add(analysis, ANALYSIS_THREAD_LATENCY, 0, findings->latency_ns);
}

static int compare(const void *a, const void *b)
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
	uint32_t task = lane_at(tasks, findings->irq_begin);

	/* If the trace ends without the timer's interrupt, that hit the last task. */
	if (task == SPAN_NONE && findings->irq_begin >= findings->spans->end)
		task = lane_at_end(tasks, findings->irq_begin);
	*analysis = (struct analysis){
		.rows = calloc(findings->nr_budget * ROWS_OF_USAGE + ROWS_OF_TOTALS,
			       sizeof(*analysis->rows)),
	};
	if (!analysis->rows)
		return -ENOMEM;
	for (size_t i = 0; i < findings->nr_budget; i++)
		add_usage(analysis, &findings->budget[i],
			  task == SPAN_NONE ? 0 : tasks->spans[task].name, facts_is_thread(facts));
	add_totals(analysis, findings, facts);
	qsort(analysis->rows, analysis->nr, sizeof(*analysis->rows), compare);
	return 0;
}

void analysis_release(struct analysis *analysis)
{
	free(analysis->rows);
	*analysis = (struct analysis){ 0 };
}
