// SPDX-License-Identifier: GPL-2.0-only
#include "facts/spans.h"

#include <string.h>

#include "array.h"
#include "kernel_function.h"

struct lane_late {
	uint32_t span;
	uint32_t before; /* index of the span after it */
};

int spans_new(struct spans **ret)
{
	struct spans *spans = calloc(1, sizeof(*spans));
	int err;

	if (!spans)
		return -ENOMEM;
	err = names_new(&spans->names);
	if (err) {
		free(spans);
		return err;
	}
	for (size_t i = 0; i < LANE_NR; i++)
		spans->lanes[i].open = SPAN_NONE;
	*ret = spans;
	return 0;
}

void spans_free(struct spans *spans)
{
	if (!spans)
		return;
	for (size_t i = 0; i < LANE_NR; i++) {
		free(spans->lanes[i].spans);
		free(spans->lanes[i].late);
	}
	samples_release(&spans->samples);
	names_free(spans->names);
	free(spans);
}

static int lane_make_room(struct lane *lane)
{
	uint32_t room = lane->room ? 2 * lane->room : 256;
	struct span *grown;

	if (lane->nr < lane->room)
		return 0;
	if (room > SPANS_MAX)
		return -E2BIG;
	grown = reallocarray(lane->spans, room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	lane->spans = grown;
	lane->room = room;
	return 0;
}

static int lane_add_span(struct lane *lane, const struct span *span)
{
	int err = lane_make_room(lane);

	if (err)
		return err;
	lane->spans[lane->nr] = *span;
	lane->spans[lane->nr].parent = lane->open;
	lane->spans[lane->nr].end = UINT64_MAX;
	lane->open = lane->nr++;
	return 0;
}

int spans_begin_named(struct spans *spans, enum lane_number number, uint64_t at,
		      enum span_kind kind, uint32_t name, bool user)
{
	struct lane *lane = &spans->lanes[number];
	const struct span *outer = lane->open == SPAN_NONE ? NULL : &lane->spans[lane->open];
	uint32_t depth = outer ? outer->depth + 1 : 0;

	if (lane->nr && at < lane->spans[lane->nr - 1].begin)
		at = lane->spans[lane->nr - 1].begin;
	return lane_add_span(
		lane,
		&(struct span){
			.begin = at, .name = name, .depth = depth, .kind = kind, .user = user });
}

int spans_begin(struct spans *spans, enum lane_number number, uint64_t at, enum span_kind kind,
		const char *name)
{
	uint32_t number_of_name = names_add(spans->names, name);

	return names_error(spans->names)
		       ?: spans_begin_named(spans, number, at, kind, number_of_name, false);
}

void spans_restart(struct spans *spans, enum lane_number number)
{
	struct lane *lane = &spans->lanes[number];

	lane->restart = lane->roots = lane->nr;
}

int spans_begin_late(struct spans *spans, enum lane_number number, uint64_t at, enum span_kind kind,
		     uint32_t name, bool user)
{
	struct lane *lane = &spans->lanes[number];
	struct lane_late *grown = reallocarray(lane->late, lane->nr_late + 1, sizeof(*lane->late));
	uint32_t span = lane->nr;
	int err;

	if (!grown)
		return -ENOMEM;
	lane->late = grown;
	err = lane_add_span(
		lane, &(struct span){ .begin = at, .name = name, .kind = kind, .user = user });
	if (err)
		return err;
	lane->late[lane->nr_late++] = (struct lane_late){ span, lane->restart };
	while (lane->roots < span) {
		if (lane->spans[lane->roots].parent == SPAN_NONE)
			lane->spans[lane->roots].parent = span;
		lane->roots++;
	}
	return 0;
}

/* By begin. Of equal begins, outer spans come first: they were added last. */
static int compare_late_spans(const void *a, const void *b)
{
	const struct lane_late *x = a, *y = b;

	return array_compare(x->before, y->before) ?: array_compare(y->span, x->span);
}

/* Computes the final index of each span. */
static void lane_find_places(const struct lane *lane, uint32_t *places)
{
	uint32_t nr = 0, late = 0;

	memset(places, 0xff, lane->nr * sizeof(*places));
	for (uint32_t i = 0; i < lane->nr; i++) {
		while (late < lane->nr_late && lane->late[late].before == i)
			places[lane->late[late++].span] = nr++;
		if (places[i] == SPAN_NONE)
			places[i] = nr++;
	}
}

/* Parents come before their children. */
static void lane_count_depths(struct lane *lane)
{
	for (uint32_t i = 0; i < lane->nr; i++) {
		struct span *span = &lane->spans[i];

		span->depth = span->parent == SPAN_NONE ? 0 : lane->spans[span->parent].depth + 1;
	}
}

int spans_settle(struct spans *spans, enum lane_number number)
{
	struct lane *lane = &spans->lanes[number];
	_cleanup_free_ uint32_t *places = NULL;
	struct span *settled;

	if (!lane->nr_late)
		return 0;
	places = calloc(lane->nr, sizeof(*places));
	settled = calloc(lane->nr, sizeof(*settled));
	if (!places || !settled) {
		free(settled);
		return -ENOMEM;
	}
	qsort(lane->late, lane->nr_late, sizeof(*lane->late), compare_late_spans);
	lane_find_places(lane, places);
	for (uint32_t i = 0; i < lane->nr; i++) {
		struct span *span = &settled[places[i]];

		*span = lane->spans[i];
		if (span->parent != SPAN_NONE)
			span->parent = places[span->parent];
	}
	free(lane->spans);
	lane->spans = settled;
	lane->room = lane->nr;
	lane->nr_late = 0;
	if (lane->open != SPAN_NONE)
		lane->open = places[lane->open];
	lane_count_depths(lane);
	return 0;
}

struct span *spans_end(struct spans *spans, enum lane_number number, uint64_t at)
{
	struct lane *lane = &spans->lanes[number];
	struct span *span;

	if (lane->open == SPAN_NONE)
		return NULL;
	span = &lane->spans[lane->open];
	/* Ends no earlier than the last span inside it began. */
	if (at < lane->spans[lane->nr - 1].begin)
		at = lane->spans[lane->nr - 1].begin;
	span->end = at;
	lane->open = span->parent;
	return span;
}

void spans_finish(struct spans *spans, uint64_t end)
{
	for (size_t i = 0; i < LANE_NR; i++) {
		struct span *span;

		while ((span = spans_end(spans, (enum lane_number)i, end)))
			span->cut = true;
	}
	spans->end = end;
}

uint32_t lane_innermost_at(const struct lane *lane, uint64_t at)
{
	uint32_t i =
		(uint32_t)ARRAY_COUNT_BEFORE(lane->nr, k, lane->spans[k].begin <= at) - UINT32_C(1);

	/* The last span to begin may have ended; its ancestors have not. */
	while (i != SPAN_NONE && lane->spans[i].end <= at)
		i = lane->spans[i].parent;
	return i;
}

uint32_t lane_innermost_at_end(const struct lane *lane, uint64_t end)
{
	uint32_t i = lane->nr;

	while (i--) {
		if (lane->spans[i].cut && lane->spans[i].end >= end)
			return i;
	}
	return SPAN_NONE;
}

enum span_kind spans_kind_of_entry(const char *function)
{
	const struct kernel_function *row =
		kernel_function_find(function, KERNEL_NMI | KERNEL_EXCEPTION | KERNEL_INTERRUPT);

	if (row && row->meaning & KERNEL_NMI)
		return SPAN_NMI;
	return row && row->meaning & KERNEL_EXCEPTION ? SPAN_EXCEPTION : SPAN_INTERRUPT;
}

enum span_kind spans_kind_of_function(const char *function)
{
	const struct kernel_function *row =
		kernel_function_find(function, KERNEL_SOFTIRQ | KERNEL_HALTS);

	if (!row)
		return SPAN_FUNCTION;
	return row->meaning & KERNEL_SOFTIRQ ? SPAN_SOFTIRQ : SPAN_IDLE;
}

const char *span_kind_name(enum span_kind kind)
{
	static const char *const names[] = {
		[SPAN_FUNCTION] = "function",
		[SPAN_SYSCALL] = "system call",
		[SPAN_INTERRUPT] = "interrupt",
		[SPAN_SOFTIRQ] = "softirq",
		[SPAN_NMI] = "NMI",
		[SPAN_EXCEPTION] = "exception",
		[SPAN_IDLE] = "idle",
		[SPAN_THREAD] = "thread",
		[SPAN_UNTRACED] = "not traced",
		[SPAN_LOST] = "lost",
		[SPAN_IRQS_OFF] = "interrupts off",
		[SPAN_IRQS_UNKNOWN] = "interrupts on or off",
	};
	_Static_assert(ARRAY_SIZE(names) == SPAN_NR_KINDS, "each has a name");

	return names[kind];
}
