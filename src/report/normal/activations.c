// SPDX-License-Identifier: GPL-2.0-only
#include "normal/activations.h"

#include <string.h>

#include "array.h"
#include "normal/ends.h"

/* A timer's function may be called this early by another clock. */
#define EARLY_NS 5000
/* By Intel PT without exact times even earlier: by this part of the period. */
#define EARLY_PART 8

struct search {
	struct activations *to;
	const struct spans *spans;
	const struct facts *facts;
	const struct timer *timer;
	size_t expiry; /* first expiry not older than the current call */
};

/* An entry without an exit so far. */
struct open_span {
	uint64_t thread;
	uint64_t began; /* 0: none */
};

/* Limit of threads with an open span. */
#define OPEN_MAX 256

static uint64_t interrupt_of(const struct lane *code, uint32_t span)
{
	uint64_t begin = code->spans[span].begin;

	for (; span != SPAN_NONE; span = code->spans[span].parent) {
		if (code->spans[span].kind == SPAN_INTERRUPT)
			return code->spans[span].begin;
	}
	return begin;
}

/* The latest expiry of a periodic timer up to that time. */
static uint64_t expected_by_period(const struct search *search, uint64_t at)
{
	uint64_t expected = search->facts->expected_ns, period = search->timer->period_ns;
	uint64_t ago =
		expected > at + period / EARLY_PART ? expected - at - period / EARLY_PART : 0;

	return expected - (ago + period - 1) / period * period;
}

/* Returns false if the call is of another timer. */
static bool find_expected(struct search *search, struct activation *activation)
{
	const struct timer *timer = search->timer;
	uint64_t expected = 0;

	if (timer->expiries) {
		while (search->expiry < timer->nr &&
		       timer->expiries[search->expiry].at < activation->handler)
			search->expiry++;
		if (search->expiry == timer->nr ||
		    timer->expiries[search->expiry].at != activation->handler)
			return false;
		expected = timer->expiries[search->expiry].expected;
	} else if (timer->period_ns) {
		/* The interrupt may have come earlier, for another timer. */
		expected = expected_by_period(search, activation->handler);
		if (activation->handler > expected + timer->period_ns / 2)
			return false;
	}
	/* Timers of CLOCK_REALTIME have it on another clock. */
	activation->expected = expected && expected <= activation->handler + EARLY_NS;
	activation->begin =
		activation->expected && expected < activation->irq ? expected : activation->irq;
	return true;
}

/* The begin of the late thread's first turn at or after `at`; UINT64_MAX: none. */
static uint64_t turn_of(const struct search *search, uint64_t at)
{
	const struct lane *tasks = &search->spans->lanes[LANE_TASKS];
	uint32_t i = (uint32_t)ARRAY_COUNT_BEFORE(tasks->nr, n, tasks->spans[n].begin < at);

	while (i < tasks->nr && tasks->spans[i].name != search->to->thread)
		i++;
	return i < tasks->nr ? tasks->spans[i].begin : UINT64_MAX;
}

/* It has the last turn at the spike. If the trace ends during the switch to it, it is the thread
 * that usually follows the timer's interrupt. */
static uint32_t find_thread(const struct spans *spans, const struct facts *facts)
{
	const struct lane *tasks = &spans->lanes[LANE_TASKS];
	uint32_t at = lane_at(tasks, facts->time_ns);
	static const char *const workloads[] = { "pp-cyclic/", "timerlat/", "pp-user/" };

	if (at != SPAN_NONE && tasks->spans[at].begin >= facts->expected_ns &&
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

static bool is_lost(const struct spans *spans, const struct activation *activation)
{
	const struct lane *gaps = &spans->lanes[LANE_GAPS];
	uint32_t i = lane_at(gaps, activation->begin);

	if (i == SPAN_NONE)
		i = (uint32_t)ARRAY_COUNT_BEFORE(gaps->nr, n,
						 gaps->spans[n].begin < activation->begin);
	for (; i < gaps->nr && gaps->spans[i].begin < activation->end; i++) {
		if (gaps->spans[i].kind == SPAN_LOST)
			return true;
	}
	return false;
}

static bool is_normal(const struct search *search, const struct activation *activation)
{
	const struct facts *facts = search->facts;
	uint64_t threshold = facts->threshold_ns ?: facts->latency_ns;

	return activation->end <= facts->expected_ns && activation->begin > search->spans->begin &&
	       activation->end - activation->begin < threshold &&
	       !is_lost(search->spans, activation);
}

/* Of several calls in a period, the first one counts. */
static bool is_again(const struct activations *to, const struct activation *activation)
{
	const struct activation *last = to->nr ? &to->normal[to->nr - 1] : NULL;

	return last && activation->begin < last->end;
}

static int take_call(struct search *search, uint32_t span)
{
	const struct lane *code = &search->spans->lanes[LANE_CODE];
	const struct facts *facts = search->facts;
	struct activations *to = search->to;
	struct activation activation = {
		.irq = interrupt_of(code, span),
		.handler = code->spans[span].begin,
	};
	int r;

	if (!find_expected(search, &activation))
		return 0;
	if (activation.handler >= facts->expected_ns && activation.handler <= facts->time_ns) {
		to->late.irq = activation.irq;
		to->late.handler = activation.handler;
		return 0;
	}
	activation.end = to->thread ? turn_of(search, activation.handler) : activation.handler;
	if (!is_normal(search, &activation) || is_again(to, &activation))
		return 0;
	r = array_grow(&to->normal, to->nr, sizeof(*to->normal));
	if (!r)
		to->normal[to->nr++] = activation;
	return r;
}

/* If the interrupt is late, the trace stops before the timer's function is called. */
static void finish_late(const struct search *search)
{
	const struct lane *code = &search->spans->lanes[LANE_CODE];
	struct activation *late = &search->to->late;
	const struct facts *facts = search->facts;
	/* The trace ends at the spike. */
	uint32_t at = lane_at(code, facts->time_ns - 1);

	late->begin = facts->expected_ns;
	late->end = search->to->thread ? turn_of(search, late->begin) : facts->time_ns;
	if (late->end > facts->time_ns)
		late->end = facts->time_ns;
	late->expected = true;
	if (late->handler || search->to->thread)
		return;
	late->handler = facts->time_ns;
	late->irq = at == SPAN_NONE ? facts->actual_ns : interrupt_of(code, at);
	if (late->irq < late->begin)
		late->irq = facts->actual_ns;
}

static int find_calls(struct search *search)
{
	const struct facts *facts = search->facts;
	const struct lane *code = &search->spans->lanes[LANE_CODE];
	uint32_t name = names_add(search->spans->names, facts->function);
	int r = names_error(search->spans->names);

	if (facts->thread)
		search->to->thread = find_thread(search->spans, facts);
	for (uint32_t i = 0; i < code->nr && !r; i++) {
		if (facts->thread && !search->to->thread)
			break;
		if (code->spans[i].kind == SPAN_FUNCTION &&
		    (search->timer->expiries || code->spans[i].name == name))
			r = take_call(search, i);
	}
	finish_late(search);
	return r;
}

/* Like the trigger: an entry in an open span restarts it. */
static int take_mark(struct search *search, struct open_span *open, const struct mark *mark)
{
	struct activations *to = search->to;
	struct activation activation = { .end = mark->at };
	struct open_span *of = &open[mark->thread % OPEN_MAX];
	int r;

	if (!mark->is_exit) {
		*of = (struct open_span){ mark->thread, mark->at };
		return 0;
	}
	if (!of->began || of->thread != mark->thread)
		return 0;
	activation.begin = of->began;
	of->began = 0;
	if (!is_normal(search, &activation))
		return 0;
	r = array_grow(&to->normal, to->nr, sizeof(*to->normal));
	if (!r)
		to->normal[to->nr++] = activation;
	return r;
}

static int find_spans(struct search *search)
{
	struct open_span open[OPEN_MAX] = {};
	const struct facts *facts = search->facts;
	struct marks found = {};
	const struct marks *marks = search->timer->marks ?: &found;
	int r = 0;

	search->to->late =
		(struct activation){ .begin = facts->expected_ns, .end = facts->actual_ns };
	if (!search->timer->marks)
		r = marks_find(&found, search->spans, search->timer->ends);
	for (size_t i = 0; i < marks->nr && !r; i++)
		r = take_mark(search, open, &marks->array[i]);
	free(found.array);
	return r;
}

int activations_find(struct activations *activations, const struct spans *spans,
		     const struct facts *facts, const struct timer *timer, size_t max)
{
	struct search search = { activations, spans, facts, timer, 0 };
	int r;

	*activations = (struct activations){ 0 };
	r = timer->ends ? find_spans(&search) : find_calls(&search);
	if (activations->nr > max) {
		memmove(activations->normal, activations->normal + activations->nr - max,
			max * sizeof(*activations->normal));
		activations->nr = max;
	}
	if (r)
		activations_release(activations);
	return r;
}

void activations_release(struct activations *activations)
{
	free(activations->normal);
	*activations = (struct activations){ 0 };
}
