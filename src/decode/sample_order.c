// SPDX-License-Identifier: GPL-2.0-only
#include "sample_order.h"

#include <string.h>

/* A run of more bytes is cut, so that little of what is before the window is read again. */
#define RUN_SIZE (64 << 10)

/* Samples of the window's CPUs whose times do not go back, and whatever is between them. */
struct run {
	uint64_t at, end; /* in the file */
	uint64_t first, last;
};

/* A run that is being read. */
struct cursor {
	uint64_t at, end;
	uint64_t sample_at;
	struct perfdata_sample sample; /* the next one */
};

struct sample_order {
	const struct perfdata_file *file;
	const struct perfdata_events *events;
	struct sample_window window;
	struct run *runs; /* by the first time */
	size_t nr_runs, room_runs;
	size_t begun;		/* so many of the runs were begun to be read */
	struct cursor *cursors; /* a heap: the first one has the next sample */
	size_t nr_cursors, room_cursors;
};

static int make_room(void *array, size_t nr, size_t *room, size_t size)
{
	size_t more = *room ? 2 * *room : 16;
	void **items = array, *grown;

	if (nr < *room)
		return 0;
	grown = reallocarray(*items, more, size);
	if (!grown)
		return -ENOMEM;
	*items = grown;
	*room = more;
	return 0;
}

static bool has_cpu(const struct sample_window *window, int cpu)
{
	for (size_t i = 0; i < window->nr_cpus; i++) {
		if (window->cpus[i] == cpu)
			return true;
	}
	return !window->nr_cpus;
}

/* The next sample of the CPUs before `end`. The record began at *begin. */
static bool find_sample(const struct sample_order *order, uint64_t *at, uint64_t end,
			uint64_t *begin, struct perfdata_sample *sample)
{
	struct perfdata_record record;

	while (*at < end) {
		*begin = *at;
		if (!perfdata_next(order->file, at, &record))
			return false;
		if (record.type == PERF_RECORD_SAMPLE &&
		    perfdata_sample(order->events, &record, sample) &&
		    has_cpu(&order->window, sample->cpu))
			return true;
	}
	return false;
}

/* The last run is complete: it stays if there is something of it in the window. */
static void end_run(struct sample_order *order)
{
	const struct run *run = order->nr_runs ? &order->runs[order->nr_runs - 1] : NULL;

	if (run && (run->first > order->window.end || run->last < order->window.begin))
		order->nr_runs--;
}

static int find_runs(struct sample_order *order)
{
	uint64_t at = order->file->data.offset, begin;
	struct perfdata_sample sample;
	struct run *run = NULL;

	while (find_sample(order, &at, UINT64_MAX, &begin, &sample)) {
		if (!run || sample.time < run->last || at - run->at > RUN_SIZE) {
			end_run(order);
			if (make_room(&order->runs, order->nr_runs, &order->room_runs,
				      sizeof(*run)))
				return -ENOMEM;
			run = &order->runs[order->nr_runs++];
			*run = (struct run){ .at = begin, .first = sample.time };
		}
		run->last = sample.time;
		run->end = at;
	}
	end_run(order);
	return 0;
}

static int compare_runs(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

int sample_order_new(struct sample_order **ret, const struct perfdata_file *file,
		     const struct perfdata_events *events, const struct sample_window *window)
{
	struct sample_order *order = calloc(1, sizeof(*order));
	int r;

	if (!order)
		return -ENOMEM;
	order->file = file;
	order->events = events;
	order->window = *window;
	r = find_runs(order);
	if (r) {
		sample_order_free(order);
		return r;
	}
	if (order->nr_runs)
		qsort(order->runs, order->nr_runs, sizeof(*order->runs), compare_runs);
	*ret = order;
	return 0;
}

void sample_order_free(struct sample_order *order)
{
	if (!order)
		return;
	free(order->runs);
	free(order->cursors);
	free(order);
}

static bool is_before(const struct cursor *one, const struct cursor *other)
{
	if (one->sample.time != other->sample.time)
		return one->sample.time < other->sample.time;
	return one->sample_at < other->sample_at;
}

static void swap(struct cursor *one, struct cursor *other)
{
	struct cursor kept = *one;

	*one = *other;
	*other = kept;
}

static void sift_up(struct cursor *heap, size_t i)
{
	for (; i && is_before(&heap[i], &heap[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&heap[i], &heap[(i - 1) / 2]);
}

static void sift_down(struct cursor *heap, size_t nr)
{
	for (size_t i = 0, least = 0;; i = least) {
		for (size_t child = 2 * i + 1; child < nr && child <= 2 * i + 2; child++) {
			if (is_before(&heap[child], &heap[least]))
				least = child;
		}
		if (least == i)
			return;
		swap(&heap[i], &heap[least]);
	}
}

/* To the next sample of the run that is in the window. */
static bool advance(const struct sample_order *order, struct cursor *cursor)
{
	do {
		if (!find_sample(order, &cursor->at, cursor->end, &cursor->sample_at,
				 &cursor->sample))
			return false;
	} while (cursor->sample.time < order->window.begin);
	return cursor->sample.time <= order->window.end;
}

/* Those runs whose first sample may come next. */
static int begin_runs(struct sample_order *order)
{
	while (order->begun < order->nr_runs) {
		const struct run *run = &order->runs[order->begun];
		struct cursor *cursor;

		if (order->nr_cursors && order->cursors->sample.time < run->first)
			return 0;
		if (make_room(&order->cursors, order->nr_cursors, &order->room_cursors,
			      sizeof(*cursor)))
			return -ENOMEM;
		cursor = &order->cursors[order->nr_cursors];
		*cursor = (struct cursor){ .at = run->at, .end = run->end };
		order->begun++;
		if (advance(order, cursor))
			sift_up(order->cursors, order->nr_cursors++);
	}
	return 0;
}

int sample_order_next(struct sample_order *order, struct perfdata_sample *sample)
{
	int r = begin_runs(order);

	if (r || !order->nr_cursors)
		return r;
	*sample = order->cursors->sample;
	if (!advance(order, order->cursors))
		order->cursors[0] = order->cursors[--order->nr_cursors];
	sift_down(order->cursors, order->nr_cursors);
	return 1;
}
