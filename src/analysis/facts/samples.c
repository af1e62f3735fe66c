// SPDX-License-Identifier: GPL-2.0-only
#include "facts/samples.h"

#include <inttypes.h>
#include <string.h>

#include "array.h"
#include "clock.h"

/* Limit for untrusted files. */
#define DEPTH_MAX 256
#define TICK_NS_MAX (10 * NSEC_PER_MSEC) /* CONFIG_HZ=100 */

static uint32_t name_user_frame(const struct samples *samples, struct names *names,
				const struct tracepoint_event *event, uint64_t address,
				struct samples_file *file)
{
	uint32_t name =
		samples->namer ? samples->namer(samples->context, names, event, address, file) : 0;

	return name ?: names_add(names, "[user space]");
}

static uint32_t name_kernel_frame(struct names *names, struct tracepoints *tracepoints,
				  uint64_t address)
{
	const char *function = tracepoints_function(tracepoints, address);
	const char *cold = function ? strstr(function, ".cold") : NULL;
	char text[128];

	/* Compilers move unlikely code of a function to a symbol of its own. */
	if (cold)
		snprintf(text, sizeof(text), "%.*s", (int)(cold - function), function);
	else
		snprintf(text, sizeof(text), "[0x%" PRIx64 "]", address);
	return names_add(names, function && !cold ? function : text);
}

/* Merges recursive frames, and user space into one frame. */
static int sample_add_frame(struct samples *samples, struct names *names,
			    struct tracepoints *tracepoints, const struct tracepoint_event *event,
			    struct sampled *sample, uint64_t address)
{
	struct samples_file file = {};
	uint32_t name = address < KERNEL_FIRST
				? name_user_frame(samples, names, event, address, &file)
				: name_kernel_frame(names, tracepoints, address);

	if (array_grow(&samples->frames, samples->nr_frames, sizeof(*samples->frames)) ||
	    array_grow(&samples->files, samples->nr_frames, sizeof(*samples->files)))
		return -ENOMEM;
	if (sample->nr && samples->frames[samples->nr_frames - 1] == name)
		return 0;
	samples->files[samples->nr_frames] = file;
	samples->frames[samples->nr_frames++] = name;
	sample->nr++;
	if (address >= KERNEL_FIRST)
		sample->nr_kernel = sample->nr;
	return 0;
}

int samples_add_event(struct samples *samples, struct names *names, struct tracepoints *tracepoints,
		      const struct tracepoint_event *event)
{
	struct sampled sample = {
		.at = event->time,
		.pid = event->pid,
		.tid = event->perf_tid,
		.first = samples->nr_frames,
	};
	uint64_t at = 0, address;
	int err = 0;

	samples->period_ns = event->kind->clock_ns;
	if (array_grow(&samples->list, samples->nr, sizeof(sample)))
		return -ENOMEM;
	while (sample.nr < DEPTH_MAX && !err && tracepoints_frame(&event->callchain, &at, &address))
		err = sample_add_frame(samples, names, tracepoints, event, &sample, address);
	/* User space has no callchain unless that was asked for. */
	if (!sample.nr && !err && event->ip)
		err = sample_add_frame(samples, names, tracepoints, event, &sample, event->ip);
	if (err)
		return err;
	if (sample.nr)
		samples->list[samples->nr++] = sample;
	return names_error(names);
}

/* A function and the samples that contain it. */
struct count {
	size_t nr;
	uint64_t depth; /* sum of distances from the outermost frame */
	size_t last;	/* last sample counted, from 1 */
};

static void count_sample_frames(struct count *counts, const struct samples *samples, size_t i)
{
	const struct sampled *sample = &samples->list[i];

	for (uint32_t j = 0; j < sample->nr; j++) {
		struct count *count = &counts[samples->frames[sample->first + j]];

		if (count->last == i + 1)
			continue;
		count->last = i + 1;
		count->nr++;
		count->depth += sample->nr - j;
	}
}

static bool is_count_most(const struct count *count, size_t all, bool clear)
{
	return clear ? 3 * count->nr >= 2 * all : 2 * count->nr > all;
}

static bool is_better_count(const struct count *a, const struct count *b, size_t all, bool clear)
{
	bool most_a = is_count_most(a, all, clear), most_b = is_count_most(b, all, clear);

	if (most_a != most_b)
		return most_a;
	if (!most_a && a->nr != b->nr)
		return a->nr > b->nr;
	return a->nr && (!b->nr || a->depth * b->nr > b->depth * a->nr);
}

static void find_sample_callers(struct samples_mostly *mostly, const struct samples *samples,
				size_t last)
{
	const struct sampled *sample = &samples->list[last - 1];
	const uint32_t *frames = &samples->frames[sample->first];
	uint32_t i = 0;

	while (frames[i] != mostly->function)
		i++;
	mostly->kernel = i < sample->nr_kernel;
	while (++i < sample->nr && mostly->nr_callers < SAMPLES_CALLERS) {
		mostly->callers[mostly->nr_callers++] = frames[i];
		mostly->nr_kernel += i < sample->nr_kernel;
	}
}

bool samples_are_wanted_at(const struct samples_want *want, uint64_t at, uint64_t *since)
{
	*since = want->begin;
	if (at < want->begin || at > want->end)
		return false;
	for (size_t i = 0; want->stays && i < want->stays->nr; i++) {
		const struct thread_stay *stay = &want->stays->list[i];

		if (stay->state != want->state || at < stay->begin || at >= stay->end)
			continue;
		*since = stay->begin > want->begin ? stay->begin : want->begin;
		return true;
	}
	return !want->stays;
}

/* How long a sample stands for, if the one before was then. However much perf throttles a clock, it
 * samples once a tick; less shows that interrupts were off, which no code of user space can do. */
static uint64_t sampled_time(const struct samples *samples, const struct sampled *sample,
			     uint64_t since)
{
	uint64_t gap = sample->at - since;

	if (sample->nr_kernel || gap < samples->period_ns)
		return samples->period_ns;
	return gap < TICK_NS_MAX ? gap : TICK_NS_MAX;
}

static uint64_t samples_wanted_time(const struct samples_want *want)
{
	return want->stays ? want->stays->sums[want->state] : want->end - want->begin;
}

int samples_find_mostly(struct samples_mostly *mostly, const struct samples *samples,
			const struct names *names, const struct samples_want *want)
{
	uint32_t nr_names = names_count(names);
	_cleanup_free_ struct count *counts = calloc(nr_names, sizeof(*counts));
	uint64_t sampled = 0, last = 0, since;

	*mostly = (struct samples_mostly){ 0 };
	if (!counts)
		return -ENOMEM;
	for (size_t i = 0; i < samples->nr; i++) {
		const struct sampled *sample = &samples->list[i];

		if (!samples_are_wanted_at(want, sample->at, &since))
			continue;
		count_sample_frames(counts, samples, i);
		sampled += sampled_time(samples, sample, last > since ? last : since);
		last = sample->at;
		mostly->all++;
	}
	mostly->few = samples->period_ns && sampled < samples_wanted_time(want) / 2;
	for (uint32_t name = 1; name < nr_names && !mostly->few; name++) {
		if (is_better_count(&counts[name], &counts[mostly->function], mostly->all,
				    want->clear))
			mostly->function = name;
	}
	if (want->clear && !is_count_most(&counts[mostly->function], mostly->all, true))
		mostly->function = 0;
	mostly->nr = counts[mostly->function].nr;
	if (mostly->function)
		find_sample_callers(mostly, samples, counts[mostly->function].last);
	return 0;
}

static void put_sampled_function(FILE *file, const struct names *names, uint32_t function)
{
	const char *name = names_get(names, function);

	fprintf(file, "%s%s", name, name[0] == '[' ? "" : "()");
}

void samples_put_mostly(FILE *file, const struct samples_mostly *mostly, const struct names *names,
			const char *before)
{
	if (mostly->few && mostly->all)
		fprintf(file, "%sonly %zu samples, as with interrupts off", before, mostly->all);
	if (!mostly->function)
		return;
	fprintf(file, "%s%zu of %zu samples in ", before, mostly->nr, mostly->all);
	put_sampled_function(file, names, mostly->function);
	for (size_t i = 0; i < mostly->nr_callers && i < SAMPLES_CALLERS_PRINTED; i++) {
		fputs(" < ", file);
		put_sampled_function(file, names, mostly->callers[i]);
	}
}
