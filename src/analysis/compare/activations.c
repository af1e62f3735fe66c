// SPDX-License-Identifier: GPL-2.0-only
#include "compare/compare.h"

#include <string.h>

#include "array.h"

/* A timer's function may be called this early by another clock. */
#define EARLY_NS 5000
/* By Intel PT without exact times even earlier: by this part of the period. */
#define EARLY_PART 8
/* Limit of threads with an open span. */
#define OPEN_MAX 256

struct search {
	struct activations *to;
	const struct spans *spans;
	const struct facts *facts;
	const struct watched *watched;
};

static uint64_t interrupt_begin_of(const struct lane *code, uint32_t span)
{
	uint64_t begin = code->spans[span].begin;

	for (; span != SPAN_NONE; span = code->spans[span].parent) {
		if (code->spans[span].kind == SPAN_INTERRUPT)
			return code->spans[span].begin;
	}
	return begin;
}

static bool is_function_call(const struct span *span, uint32_t function)
{
	return span->kind == SPAN_FUNCTION && span->name == function;
}

/* The begin of the late thread's first turn at or after `at`; UINT64_MAX: none. */
static uint64_t next_turn_of_thread(const struct spans *spans, uint32_t thread, uint64_t at)
{
	const struct lane *tasks = &spans->lanes[LANE_TASKS];
	uint32_t i = (uint32_t)ARRAY_COUNT_BEFORE(tasks->nr, n, tasks->spans[n].begin < at);

	while (i < tasks->nr && tasks->spans[i].name != thread)
		i++;
	return i < tasks->nr ? tasks->spans[i].begin : UINT64_MAX;
}

/* It has the last turn at the spike. If the trace ends during the switch to it, it is the thread
 * that usually follows the timer's interrupt. */
static uint32_t find_late_thread(const struct spans *spans, const struct facts *facts)
{
	const struct lane *tasks = &spans->lanes[LANE_TASKS];
	uint32_t at = lane_innermost_at(tasks, facts->spike.time_ns);
	static const char *const workloads[] = { "pp-cyclic/", "timerlat/", "pp-user/" };

	if (at != SPAN_NONE && tasks->spans[at].begin >= facts->spike.expected_ns &&
	    tasks->spans[at].kind == SPAN_THREAD)
		return tasks->spans[at].name;
	for (uint32_t i = tasks->nr; i--;) {
		const char *name = names_get(spans->names, tasks->spans[i].name);

		for (size_t k = 0; k < ARRAY_SIZE(workloads); k++) {
			if (!strncmp(name, workloads[k], strlen(workloads[k])))
				return tasks->spans[i].name;
		}
	}
	return 0;
}

/* If the interrupt is late, the trace stops before the timer's function is called. */
static void find_late_call(struct activation *late, const struct spans *spans,
			   const struct facts *facts, uint32_t function)
{
	const struct lane *code = &spans->lanes[LANE_CODE];
	/* The trace ends at the spike. */
	uint32_t at = lane_innermost_at(code, facts->spike.time_ns - 1);

	for (uint32_t i = code->nr; i-- && code->spans[i].begin >= facts->spike.expected_ns;) {
		if (code->spans[i].begin > facts->spike.time_ns ||
		    !is_function_call(&code->spans[i], function))
			continue;
		late->irq = interrupt_begin_of(code, i);
		late->handler = code->spans[i].begin;
		return;
	}
	if (facts_is_thread(facts))
		return;
	late->handler = facts->spike.time_ns;
	late->irq = at == SPAN_NONE ? facts->spike.actual_ns : interrupt_begin_of(code, at);
	if (late->irq < late->begin)
		late->irq = facts->spike.actual_ns;
}

int activations_find_late(struct activations *activations, const struct account *account)
{
	const struct facts *facts = &account->facts;
	const struct spans *spans = account->spans;
	uint32_t function = names_add(spans->names, facts->function);
	struct activation *late = &activations->late;

	*activations = (struct activations){
		.late = { .begin = facts->spike.expected_ns, .end = facts->spike.time_ns },
	};
	if (facts_is_reported(facts)) {
		late->end = facts->spike.actual_ns;
		return 0;
	}
	late->expected = true;
	find_late_call(late, spans, facts, function);
	if (facts_is_thread(facts))
		activations->thread = find_late_thread(spans, facts);
	if (activations->thread)
		late->end = next_turn_of_thread(spans, activations->thread, late->begin);
	if (late->end > facts->spike.time_ns)
		late->end = facts->spike.time_ns;
	return names_error(spans->names);
}

static bool is_activation_lost(const struct spans *spans, const struct activation *activation)
{
	const struct lane *gaps = &spans->lanes[LANE_GAPS];
	uint32_t i = lane_innermost_at(gaps, activation->begin);

	if (i == SPAN_NONE)
		i = (uint32_t)ARRAY_COUNT_BEFORE(gaps->nr, n,
						 gaps->spans[n].begin < activation->begin);
	for (; i < gaps->nr && gaps->spans[i].begin < activation->end; i++) {
		if (gaps->spans[i].kind == SPAN_LOST)
			return true;
	}
	return false;
}

static int add_normal_activation(struct search *search, const struct activation *activation)
{
	const struct facts *facts = search->facts;
	struct activations *to = search->to;
	uint64_t threshold = facts->spike.threshold_ns ?: facts->spike.latency_ns;
	int err;

	if (activation->end > facts->spike.expected_ns ||
	    activation->begin <= search->spans->begin ||
	    activation->end - activation->begin >= threshold ||
	    is_activation_lost(search->spans, activation))
		return 0;
	err = array_grow(&to->array, to->nr, sizeof(*to->array));
	if (!err)
		to->array[to->nr++] = *activation;
	return err;
}

static int add_timer_activation(struct search *search, uint32_t span)
{
	const struct lane *code = &search->spans->lanes[LANE_CODE];
	const struct activations *to = search->to;
	uint64_t period_ns = search->watched->period_ns;
	uint64_t expected = search->facts->spike.expected_ns, until;
	struct activation activation = {
		.begin = interrupt_begin_of(code, span),
		.irq = interrupt_begin_of(code, span),
		.handler = code->spans[span].begin,
		.end = to->thread ? next_turn_of_thread(search->spans, to->thread,
							code->spans[span].begin)
				  : code->spans[span].begin,
	};

	if (period_ns) {
		/* The latest expiry of the periodic timer up to that time. */
		until = activation.handler + period_ns / EARLY_PART;
		if (expected > until)
			expected -= (expected - until + period_ns - 1) / period_ns * period_ns;
		/* The call is of another timer. */
		if (activation.handler > expected + period_ns / 2)
			return 0;
		activation.expected = expected <= activation.handler + EARLY_NS;
		/* The interrupt may have come earlier, for another timer. */
		if (activation.expected && expected < activation.irq)
			activation.begin = expected;
	}
	/* Of several calls in a period, the first one counts. */
	if (to->nr && activation.begin < to->array[to->nr - 1].end)
		return 0;
	return add_normal_activation(search, &activation);
}

static int find_timer_activations(struct search *search)
{
	const struct facts *facts = search->facts;
	const struct lane *code = &search->spans->lanes[LANE_CODE];
	uint32_t function = names_add(search->spans->names, facts->function);
	int err = names_error(search->spans->names);

	if (facts_is_thread(facts) && !search->to->thread)
		return err;
	for (uint32_t i = 0;
	     i < code->nr && code->spans[i].begin < facts->spike.expected_ns && !err; i++) {
		if (is_function_call(&code->spans[i], function))
			err = add_timer_activation(search, i);
	}
	return err;
}

static int add_span_mark(struct marks *marks, uint64_t at, uint64_t thread, bool is_exit)
{
	int err = array_grow(&marks->array, marks->nr, sizeof(*marks->array));

	if (!err)
		marks->array[marks->nr++] = (struct mark){ at, thread, is_exit };
	return err;
}

int span_marks_read(struct marks *marks, const struct watched *watched,
		    struct tracepoints *tracepoints, int cpu)
{
	struct tracepoint_event event;
	int err = 0;

	while (!err && tracepoints_next(tracepoints, &event)) {
		uint64_t thread = watched->by_thread ? (uint64_t)event.tid : 0;

		if (event.cpu != cpu)
			continue;
		if (!strcmp(event.kind->name, watched->exit.event))
			err = add_span_mark(marks, event.time, thread, true);
		if (!err && !strcmp(event.kind->name, watched->entry.event))
			err = add_span_mark(marks, event.time, thread, false);
	}
	return err;
}

static bool is_function_of_end(const struct spans *spans, const struct span_end *end, uint32_t span)
{
	const struct span *of = &spans->lanes[LANE_CODE].spans[span];

	if (of->kind != SPAN_FUNCTION && of->kind != SPAN_SYSCALL)
		return false;
	for (size_t i = 0; i < end->nr; i++) {
		if (!strcmp(names_get(spans->names, of->name), end->functions[i]))
			return true;
	}
	return false;
}

static int find_marks_of_end(struct marks *marks, const struct watched *watched,
			     const struct spans *spans, const struct span_end *end)
{
	const struct lane *code = &spans->lanes[LANE_CODE], *tasks = &spans->lanes[LANE_TASKS];
	int err = 0;

	for (uint32_t i = 0; i < code->nr && !err; i++) {
		uint64_t at = end->at_return ? code->spans[i].end : code->spans[i].begin,
			 thread = 0;
		uint32_t turn, outer = code->spans[i].parent;

		if (code->spans[i].cut || !is_function_of_end(spans, end, i))
			continue;
		/* Leaves out a call inside of the function: a tracepoint's function calls another
		 * one; a function may call itself. */
		while (outer != SPAN_NONE && !is_function_of_end(spans, end, outer))
			outer = code->spans[outer].parent;
		if (outer != SPAN_NONE)
			continue;
		/* The turn at this moment, or the one that ends with it. */
		turn = lane_innermost_at(tasks, end->at_return && at ? at - 1 : at);
		if (turn != SPAN_NONE) {
			const struct span *task = &tasks->spans[turn];

			/* If the thread of a function waits, the function is cut at the end of the
			 * turn, and continues in the thread's next turn. */
			if (at == (end->at_return ? task->end : task->begin))
				continue;
			thread = watched->by_thread ? task->name : 0;
		}
		err = add_span_mark(marks, at, thread, end == &watched->exit);
	}
	return err;
}

static int compare_marks(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	return array_compare(x->at, y->at) ?: array_compare(y->is_exit, x->is_exit);
}

int span_marks_find(struct marks *marks, const struct watched *watched, const struct spans *spans)
{
	int err = find_marks_of_end(marks, watched, spans, &watched->entry);

	if (!err)
		err = find_marks_of_end(marks, watched, spans, &watched->exit);
	if (marks->nr)
		qsort(marks->array, marks->nr, sizeof(*marks->array), compare_marks);
	return err;
}

/* Like the trigger: an entry in an open span restarts it. */
static int add_span_activations(struct search *search, const struct marks *marks)
{
	struct {
		uint64_t thread, began; /* 0: none */
	} open[OPEN_MAX] = {};
	int err = 0;

	for (size_t i = 0; i < marks->nr && !err; i++) {
		const struct mark *mark = &marks->array[i];
		size_t of = mark->thread % OPEN_MAX;
		struct activation activation = { .begin = open[of].began, .end = mark->at };

		if (!mark->is_exit) {
			open[of].thread = mark->thread;
			open[of].began = mark->at;
		} else if (open[of].began && open[of].thread == mark->thread) {
			open[of].began = 0;
			err = add_normal_activation(search, &activation);
		}
	}
	return err;
}

int activations_find_normal(struct activations *activations, const struct account *account,
			    const struct watched *watched, size_t max)
{
	struct search search = { activations, account->spans, &account->facts, watched };
	struct marks found = {};
	int err;

	if (!watched->span)
		err = find_timer_activations(&search);
	else if (watched->marks.nr)
		err = add_span_activations(&search, &watched->marks);
	else
		err = span_marks_find(&found, watched, search.spans)
			      ?: add_span_activations(&search, &found);
	free(found.array);
	if (activations->nr > max) {
		memmove(activations->array, activations->array + activations->nr - max,
			max * sizeof(*activations->array));
		activations->nr = max;
	}
	return err;
}
