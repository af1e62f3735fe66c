// SPDX-License-Identifier: GPL-2.0-only
#include "normal/ends.h"

#include <string.h>

#include "array.h"

/* Limit of a function's callers. */
#define DEPTH_MAX 64

struct finder {
	const struct spans *spans;
	const struct end *end;
	uint32_t names[END_FUNCTIONS];
};

static int add(struct marks *marks, uint64_t at, uint64_t thread, bool is_exit)
{
	int r = array_grow(&marks->array, marks->nr, sizeof(*marks->array));

	if (!r)
		marks->array[marks->nr++] = (struct mark){ at, thread, is_exit };
	return r;
}

int marks_read(struct marks *marks, struct tracepoints *tracepoints, const struct ends *ends,
	       int cpu)
{
	struct tracepoint_event event;
	int r = 0;

	while (!r && tracepoints_next(tracepoints, &event)) {
		uint64_t thread = ends->by_thread ? (uint64_t)event.tid : 0;

		if (event.cpu != cpu)
			continue;
		if (!strcmp(event.kind->name, ends->exit.event))
			r = add(marks, event.time, thread, true);
		if (!r && !strcmp(event.kind->name, ends->entry.event))
			r = add(marks, event.time, thread, false);
	}
	return r;
}

static bool is_function(const struct finder *finder, const struct span *span)
{
	for (size_t i = 0; i < finder->end->nr; i++) {
		if (span->name == finder->names[i] &&
		    (span->kind == SPAN_FUNCTION || span->kind == SPAN_SYSCALL))
			return true;
	}
	return false;
}

/* Whether it is a call inside of the function: a tracepoint's function calls another one; a
 * function may call itself. */
static bool is_inner(const struct finder *finder, const struct span *span)
{
	const struct lane *code = &finder->spans->lanes[LANE_CODE];
	uint32_t at = span->parent;

	for (int depth = 0; at != SPAN_NONE && depth < DEPTH_MAX; depth++) {
		if (is_function(finder, &code->spans[at]))
			return true;
		at = code->spans[at].parent;
	}
	return false;
}

/* The turn at this moment, or the one that ends with it. SPAN_NONE: unknown. */
static uint32_t turn_at(const struct spans *spans, uint64_t at, bool ends)
{
	return lane_at(&spans->lanes[LANE_TASKS], ends && at ? at - 1 : at);
}

/* If the thread of a function waits, the function is cut at the end of the turn, and continues in
 * the thread's next turn. */
static bool is_switch(const struct spans *spans, uint32_t turn, uint64_t at, bool ends)
{
	const struct span *task = &spans->lanes[LANE_TASKS].spans[turn];

	return turn != SPAN_NONE && at == (ends ? task->end : task->begin);
}

static int find_end(struct marks *marks, const struct finder *finder, const struct ends *ends)
{
	const struct lane *code = &finder->spans->lanes[LANE_CODE];
	bool at_return = finder->end->at_return, is_exit = finder->end == &ends->exit;
	int r = 0;

	for (uint32_t i = 0; i < code->nr && !r; i++) {
		const struct span *span = &code->spans[i];
		uint64_t at = at_return ? span->end : span->begin;
		uint32_t turn;

		if (!is_function(finder, span) || is_inner(finder, span) || span->cut)
			continue;
		turn = turn_at(finder->spans, at, at_return);
		if (is_switch(finder->spans, turn, at, at_return))
			continue;
		r = add(marks, at,
			ends->by_thread && turn != SPAN_NONE
				? finder->spans->lanes[LANE_TASKS].spans[turn].name
				: 0,
			is_exit);
	}
	return r;
}

static int compare_marks(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	return array_compare(x->at, y->at) ?: array_compare(y->is_exit, x->is_exit);
}

int marks_find(struct marks *marks, const struct spans *spans, const struct ends *ends)
{
	const struct end *both[] = { &ends->entry, &ends->exit };
	int r = 0;

	for (size_t k = 0; k < ARRAY_SIZE(both) && !r; k++) {
		struct finder finder = { .spans = spans, .end = both[k] };

		for (size_t i = 0; i < both[k]->nr; i++)
			finder.names[i] = names_add(spans->names, both[k]->functions[i]);
		r = names_error(spans->names) ?: find_end(marks, &finder, ends);
	}
	if (marks->nr)
		qsort(marks->array, marks->nr, sizeof(*marks->array), compare_marks);
	return r;
}
