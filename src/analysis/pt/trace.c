// SPDX-License-Identifier: GPL-2.0-only
#include "pt/trace.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "code/sideband.h"
#include "pt/trace_internal.h"
#include "pt_packets.h"

/* struct perf_record_auxtrace after the header: size, offset, reference, idx, tid, cpu. */
#define AUXTRACE_REFERENCE 24
#define AUXTRACE_CPU 40

struct trace {
	struct trace_queue *queues;
	size_t nr;
};

static int add_trace_queue(struct trace *trace, struct trace_queue queue)
{
	if (array_grow(&trace->queues, trace->nr, sizeof(queue)))
		return -ENOMEM;
	trace->queues[trace->nr++] = queue;
	return 0;
}

static int add_auxtrace_queue(struct trace *trace, const struct sideband *sb,
			      const struct perfdata_record *record)
{
	struct trace_queue queue = { .bytes = record->trace, .size = record->trace_size };

	queue.clock = &sideband_pt(sb)->clock;
	memcpy(&queue.near, record->bytes + AUXTRACE_REFERENCE, sizeof(queue.near));
	memcpy(&queue.cpu, record->bytes + AUXTRACE_CPU, sizeof(queue.cpu));
	return queue.size ? add_trace_queue(trace, queue) : 0;
}

/* The ID or, without ID_INDEX, the sample identifies the owner of the trace. */
static int add_sample_queue(struct trace *trace, const struct sideband *sb,
			    const struct perfdata_record *record)
{
	const struct trace_clock *clock = &sideband_pt(sb)->clock;
	struct perfdata_sample sample;
	const struct sideband_id *id;

	if (!perfdata_sample(sideband_events(sb), record, &sample) || !sample.aux.size)
		return 0;
	id = sideband_find_id(sb, sample.id);
	return add_trace_queue(trace, (struct trace_queue){
					      .bytes = sample.aux.data,
					      .size = sample.aux.size,
					      .near = trace_clock_tsc(clock, sample.time),
					      .cpu = id ? id->cpu : sample.cpu,
					      .clock = clock,
				      });
}

static int compare_queues(const void *a, const void *b)
{
	const struct trace_queue *one = a, *other = b;

	return (one->cpu > other->cpu) - (one->cpu < other->cpu);
}

static int find_trace_queues(struct trace *trace, const struct perfdata_file *file,
			     const struct sideband *sb)
{
	struct perfdata_record record;
	int err = 0;

	for (uint64_t at = file->data.offset; !err && perfdata_next(file, &at, &record);) {
		if (record.trace)
			err = add_auxtrace_queue(trace, sb, &record);
		else if (record.type == PERF_RECORD_SAMPLE)
			err = add_sample_queue(trace, sb, &record);
	}
	if (!err && trace->nr)
		qsort(trace->queues, trace->nr, sizeof(*trace->queues), compare_queues);
	return err;
}

/* What no capture is. Sorted by CPU, traces without one come first. */
static const char *refusal_reason(const struct trace *trace)
{
	if (trace->queues->cpu < 0)
		return "it is a trace of threads, not of CPUs: perf script reads it";
	for (size_t i = 1; i < trace->nr; i++) {
		if (trace->queues[i].cpu == trace->queues[i - 1].cpu)
			return "its trace of a CPU is not in one piece: perf script reads it";
	}
	return NULL;
}

int trace_new(struct trace **ret, const struct perfdata_file *file, const struct sideband *sb,
	      char **why)
{
	struct trace *trace = calloc(1, sizeof(*trace));
	const char *text = NULL;
	int err = trace ? 0 : -ENOMEM;

	if (!err && !sideband_pt(sb)->found) {
		err = -ENODATA;
		text = "it has no trace of Intel PT";
	}
	if (!err)
		err = find_trace_queues(trace, file, sb);
	if (!err && !trace->nr) {
		err = -ENODATA;
		text = "its trace is empty";
	}
	if (!err && (text = refusal_reason(trace)))
		err = -ENOTSUP;
	if (!err) {
		*ret = trace;
		return 0;
	}
	trace_free(trace);
	*why = strdup(text ?: strerror(-err));
	return *why ? err : -ENOMEM;
}

void trace_free(struct trace *trace)
{
	if (!trace)
		return;
	free(trace->queues);
	free(trace);
}

size_t trace_nr_queues(const struct trace *trace)
{
	return trace->nr;
}

const struct trace_queue *trace_queue(const struct trace *trace, size_t i)
{
	return &trace->queues[i];
}

int trace_queue_cpu(const struct trace_queue *queue)
{
	return queue->cpu;
}

uint64_t trace_size(const struct trace_queue *queue)
{
	return queue->size;
}

/* The PSB+ of a PSB in untraced code lacks the execution mode: decode it as part of the previous
 * segment. */
static bool has_execution_mode(const struct trace_queue *queue, const struct trace_point *point)
{
	return psb_read(queue->bytes + point->offset, queue->bytes + queue->size).modes;
}

/* Finds the first point at or after `from` where decoding can begin. */
static bool find_segment_from(const struct trace_queue *queue, size_t from,
			      struct trace_point *point)
{
	bool is_first = !from;

	do {
		if (!trace_find_point(queue, queue->size, from, false, point))
			return false;
		from = point->offset + PT_PSB_LEN;
	} while (!is_first && !has_execution_mode(queue, point));
	return true;
}

static bool find_segment_before(const struct trace_queue *queue, size_t before,
				struct trace_point *point)
{
	bool found = false;

	while (trace_find_point_before(queue, before, false, point)) {
		found = true;
		before = point->offset;
		if (has_execution_mode(queue, point))
			break;
	}
	return found;
}

static void make_trace_segment(const struct trace_queue *queue, const struct trace_point *point,
			       bool joined, struct trace_segment *segment)
{
	struct trace_point next;

	*segment = (struct trace_segment){
		.begin = queue->bytes + point->offset,
		.end = queue->bytes + queue->size,
		.limit = queue->bytes + queue->size,
		.offset = point->offset,
		.tsc = point->tsc,
		.time = point->tsc ? trace_clock_ns(queue->clock, point->tsc) : 0,
		.joined = joined,
	};
	if (find_segment_from(queue, point->offset + PT_PSB_LEN, &next))
		segment->end = queue->bytes + next.offset;
}

/* The segment before it is unknown. */
static void make_found_segment(const struct trace_queue *queue, const struct trace_point *point,
			       struct trace_segment *segment)
{
	struct trace_point before;

	make_trace_segment(queue, point, find_segment_before(queue, point->offset, &before),
			   segment);
}

/* The last tick of a nanosecond. */
static uint64_t last_tick_of_time(const struct trace_clock *clock, uint64_t time)
{
	uint64_t tsc = trace_clock_tsc(clock, time + 1);

	/* With a fast clock, this may be a tick of the next ns, or the one before. */
	for (int i = 0; i < 2 && tsc && trace_clock_ns(clock, tsc) == time + 1; i++)
		tsc--;
	return tsc;
}

bool trace_seek_segment(const struct trace_queue *queue, uint64_t time,
			struct trace_segment *segment)
{
	uint64_t tsc = time == UINT64_MAX ? UINT64_MAX : last_tick_of_time(queue->clock, time);
	struct trace_point point;

	if (!(time ? trace_seek_point(queue, tsc, &point) : find_segment_from(queue, 0, &point)))
		return false;
	if (time)
		find_segment_before(queue, point.offset + 1, &point);
	make_found_segment(queue, &point, segment);
	return true;
}

bool trace_next_segment(const struct trace_queue *queue, struct trace_segment *segment)
{
	struct trace_point point;

	if (!find_segment_from(queue, (size_t)(segment->end - queue->bytes), &point))
		return false;
	make_trace_segment(queue, &point, true, segment);
	return true;
}

bool trace_previous_segment(const struct trace_queue *queue, struct trace_segment *segment)
{
	struct trace_point point;

	if (!find_segment_before(queue, (size_t)(segment->begin - queue->bytes), &point))
		return false;
	make_found_segment(queue, &point, segment);
	return true;
}
