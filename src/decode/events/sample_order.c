// SPDX-License-Identifier: GPL-2.0-only
#include "events/sample_order.h"

#include "array.h"

struct place {
	uint64_t time, at; /* in the file */
};

struct sample_order {
	const struct perfdata_file *file;
	const struct perfdata_events *events;
	struct sample_window window;
	struct place *places; /* sorted */
	size_t nr, next;
};

static bool is_wanted(const struct sample_window *window, const struct perfdata_sample *sample)
{
	if (sample->time < window->begin || sample->time > window->end)
		return false;
	for (size_t i = 0; i < window->nr_cpus; i++) {
		if (window->cpus[i] == sample->cpu)
			return true;
	}
	return !window->nr_cpus;
}

/* The record at an offset, and the offset of the next one. False: no record, or no sample. */
static bool read_sample(const struct sample_order *order, uint64_t *at,
			struct perfdata_sample *sample)
{
	struct perfdata_record record;

	return perfdata_next(order->file, at, &record) && record.type == PERF_RECORD_SAMPLE &&
	       perfdata_sample(order->events, &record, sample);
}

static int find_samples(struct sample_order *order)
{
	uint64_t at = order->file->data.offset;

	for (uint64_t before = at;; before = at) {
		struct perfdata_sample sample;
		bool found = read_sample(order, &at, &sample);

		if (at == before)
			return 0;
		if (!found || !is_wanted(&order->window, &sample))
			continue;
		if (array_grow(&order->places, order->nr, sizeof(*order->places)))
			return -ENOMEM;
		order->places[order->nr++] = (struct place){ sample.time, before };
	}
}

static int compare(const void *a, const void *b)
{
	const struct place *one = a, *other = b;

	return array_compare(one->time, other->time) ?: array_compare(one->at, other->at);
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
	r = find_samples(order);
	if (r) {
		sample_order_free(order);
		return r;
	}
	if (order->nr)
		qsort(order->places, order->nr, sizeof(*order->places), compare);
	*ret = order;
	return 0;
}

void sample_order_free(struct sample_order *order)
{
	if (!order)
		return;
	free(order->places);
	free(order);
}

int sample_order_next(struct sample_order *order, struct perfdata_sample *sample)
{
	uint64_t at;

	if (order->next == order->nr)
		return 0;
	at = order->places[order->next++].at;
	return read_sample(order, &at, sample);
}
