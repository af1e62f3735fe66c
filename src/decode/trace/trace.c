// SPDX-License-Identifier: GPL-2.0-only
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "pt_packet.h"
#include "sideband/sideband.h"
#include "trace/psb.h"
#include "trace/trace_internal.h"

/* struct perf_record_auxtrace after the header: size, offset, reference, idx, tid, cpu. */
#define AUXTRACE_REFERENCE 24
#define AUXTRACE_CPU 40

struct trace {
	struct trace_queue *queues;
	size_t nr;
};

struct chunks {
	struct trace_chunk *chunks;
	size_t nr;
	bool sampled;
};

static int add_chunk(struct chunks *chunks, struct trace_chunk chunk)
{
	if (array_grow(&chunks->chunks, chunks->nr, sizeof(chunk)))
		return -ENOMEM;
	chunks->chunks[chunks->nr++] = chunk;
	return 0;
}

static int add_auxtrace(struct chunks *chunks, const struct perfdata_record *record)
{
	struct trace_chunk chunk = { .bytes = record->trace, .size = record->trace_size };

	memcpy(&chunk.near, record->bytes + AUXTRACE_REFERENCE, sizeof(chunk.near));
	memcpy(&chunk.cpu, record->bytes + AUXTRACE_CPU, sizeof(chunk.cpu));
	return chunk.size ? add_chunk(chunks, chunk) : 0;
}

/* The ID or, without ID_INDEX, the sample identifies the owner of the trace. */
static int add_sample(struct chunks *chunks, const struct sideband *sb,
		      const struct perfdata_record *record)
{
	struct perfdata_sample sample;
	const struct sideband_id *id;

	if (!perfdata_sample(sideband_events(sb), record, &sample) || !sample.aux.size)
		return 0;
	chunks->sampled = true;
	id = sideband_id(sb, sample.id);
	return add_chunk(chunks,
			 (struct trace_chunk){
				 .bytes = sample.aux.data,
				 .size = sample.aux.size,
				 .near = trace_clock_tsc(&sideband_pt(sb)->clock, sample.time),
				 .cpu = id ? id->cpu : sample.cpu,
			 });
}

static int compare_chunks(const void *a, const void *b)
{
	const struct trace_chunk *one = a, *other = b;

	if (one->cpu != other->cpu)
		return one->cpu < other->cpu ? -1 : 1;
	return (one->bytes > other->bytes) - (one->bytes < other->bytes);
}

static int find_chunks(struct chunks *chunks, const struct perfdata_file *file,
		       const struct sideband *sb)
{
	struct perfdata_record record;
	int r = 0;

	for (uint64_t at = file->data.offset; !r && perfdata_next(file, &at, &record);) {
		if (record.trace)
			r = add_auxtrace(chunks, &record);
		else if (record.type == PERF_RECORD_SAMPLE)
			r = add_sample(chunks, sb, &record);
	}
	if (!r && chunks->nr)
		qsort(chunks->chunks, chunks->nr, sizeof(*chunks->chunks), compare_chunks);
	return r;
}

static int make_queue(struct trace_queue *queue, const struct chunks *chunks, size_t from,
		      size_t until, const struct sideband *sb)
{
	const struct trace_chunk *first = &chunks->chunks[from];
	int r = trace_join(queue, first, until - from);

	queue->clock = &sideband_pt(sb)->clock;
	queue->cpu = first->cpu;
	for (size_t i = 0; !r && i < queue->nr; i++) {
		struct trace_piece *piece = &queue->pieces[i];

		piece->offset = queue->size;
		queue->size += (uint64_t)(piece->end - piece->begin);
	}
	return r;
}

static int make_queues(struct trace *trace, const struct chunks *chunks, const struct sideband *sb)
{
	size_t from = 0;
	int r = 0;

	trace->queues = calloc(chunks->nr, sizeof(*trace->queues));
	if (!trace->queues)
		return -ENOMEM;
	for (size_t i = 1; !r && i <= chunks->nr; i++) {
		if (i < chunks->nr && chunks->chunks[from].cpu == chunks->chunks[i].cpu)
			continue;
		r = make_queue(&trace->queues[trace->nr++], chunks, from, i, sb);
		from = i;
	}
	return r;
}

/* What no capture is. Sorted by CPU, chunks without one come first. */
static const char *why_refused(const struct chunks *chunks, const struct sideband *sb)
{
	bool snapshots = sideband_pt(sb)->fields[PERFDATA_PT_SNAPSHOT_MODE] || chunks->sampled;

	if (chunks->nr && chunks->chunks->cpu < 0)
		return "it is a trace of threads, not of CPUs: perf script reads it";
	for (size_t i = 1; i < chunks->nr && !snapshots; i++) {
		if (chunks->chunks[i].cpu == chunks->chunks[i - 1].cpu)
			return "it is a stream of perf record, not a snapshot (-S): perf script "
			       "reads it";
	}
	return NULL;
}

int trace_new(struct trace **ret, const struct perfdata_file *file, const struct sideband *sb,
	      char **why)
{
	struct trace *trace = calloc(1, sizeof(*trace));
	struct chunks chunks = {};
	const char *text = NULL;
	int r = trace ? 0 : -ENOMEM;

	if (!r && !sideband_pt(sb)->found) {
		r = -ENODATA;
		text = "it has no trace of Intel PT";
	}
	if (!r)
		r = find_chunks(&chunks, file, sb);
	if (!r && !chunks.nr) {
		r = -ENODATA;
		text = "its trace is empty";
	}
	if (!r)
		text = why_refused(&chunks, sb);
	if (!r)
		r = text ? -ENOTSUP : make_queues(trace, &chunks, sb);
	free(chunks.chunks);
	if (!r) {
		*ret = trace;
		return 0;
	}
	trace_free(trace);
	*why = strdup(text ?: strerror(-r));
	return *why ? r : -ENOMEM;
}

void trace_free(struct trace *trace)
{
	if (!trace)
		return;
	for (size_t i = 0; i < trace->nr; i++)
		free(trace->queues[i].pieces);
	free(trace->queues);
	free(trace);
}

size_t trace_nr(const struct trace *trace)
{
	return trace->nr;
}

const struct trace_queue *trace_queue(const struct trace *trace, size_t i)
{
	return &trace->queues[i];
}

int trace_cpu(const struct trace_queue *queue)
{
	return queue->cpu;
}

uint64_t trace_size(const struct trace_queue *queue)
{
	return queue->size;
}

/* The PSB+ of a PSB in untraced code lacks the execution mode: decode it as part of the previous
 * segment. */
static bool tells_mode(const struct trace_piece *piece, const struct trace_point *point)
{
	return psb_read(piece->begin + point->offset, piece->limit).modes;
}

/* Finds the first point at or after `from` where decoding can begin. Its PSB must begin within the
 * piece; its PSB+ may extend to the limit. */
static bool find_in(const struct trace_piece *piece, size_t from, struct trace_point *point)
{
	bool is_first = !from;

	do {
		if (!trace_find_point(piece->begin, (size_t)(piece->limit - piece->begin),
				      piece->near, from, false, point) ||
		    piece->begin + point->offset >= piece->end)
			return false;
		from = point->offset + PT_PSB_LEN;
	} while (!is_first && !tells_mode(piece, point));
	return true;
}

static bool find_before(const struct trace_piece *piece, size_t before, struct trace_point *point)
{
	bool found = false;

	while (trace_find_point_before(piece->begin, (size_t)(piece->limit - piece->begin),
				       piece->near, before, false, point)) {
		found = true;
		before = point->offset;
		if (tells_mode(piece, point))
			break;
	}
	return found;
}

static void make_segment(const struct trace_queue *queue, size_t buffer,
			 const struct trace_point *point, bool joined,
			 struct trace_segment *segment)
{
	const struct trace_piece *piece = &queue->pieces[buffer];
	struct trace_point next;

	*segment = (struct trace_segment){
		.begin = piece->begin + point->offset,
		.end = piece->end,
		.limit = piece->limit,
		.offset = piece->offset + point->offset,
		.tsc = point->tsc,
		.time = point->tsc ? trace_clock_ns(queue->clock, point->tsc) : 0,
		.joined = joined,
		.buffer = buffer,
	};
	if (find_in(piece, point->offset + PT_PSB_LEN, &next))
		segment->end = piece->begin + next.offset;
}

/* The segment before it is unknown. */
static void make_found(const struct trace_queue *queue, size_t buffer,
		       const struct trace_point *point, struct trace_segment *segment)
{
	const struct trace_piece *piece = &queue->pieces[buffer];
	struct trace_point before;
	bool joined = piece->joined || find_before(piece, point->offset, &before);

	make_segment(queue, buffer, point, joined, segment);
}

/* The first segment of this piece or a later one. */
static bool first_from(const struct trace_queue *queue, size_t buffer,
		       struct trace_segment *segment)
{
	struct trace_point point;

	for (; buffer < queue->nr; buffer++) {
		const struct trace_piece *piece = &queue->pieces[buffer];

		if (find_in(piece, 0, &point)) {
			make_segment(queue, buffer, &point, piece->joined, segment);
			return true;
		}
	}
	return false;
}

/* The last segment of earlier pieces. */
static bool last_before(const struct trace_queue *queue, size_t buffer,
			struct trace_segment *segment)
{
	struct trace_point point;

	while (buffer--) {
		const struct trace_piece *piece = &queue->pieces[buffer];

		if (find_before(piece, (size_t)(piece->end - piece->begin), &point)) {
			make_found(queue, buffer, &point, segment);
			return true;
		}
	}
	return false;
}

/* Index after the last piece that begins at or before the TSC. Pieces without a time are
 * skipped. */
static size_t pieces_until(const struct trace_queue *queue, uint64_t tsc)
{
	size_t low = 0, high = queue->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2, i = middle;
		struct trace_point point = {};

		for (; i < high && !point.tsc; i++) {
			const struct trace_piece *piece = &queue->pieces[i];

			trace_find_point(piece->begin, (size_t)(piece->limit - piece->begin),
					 piece->near, 0, true, &point);
		}
		if (point.tsc && point.tsc <= tsc)
			low = i;
		else
			high = middle;
	}
	return low;
}

/* The last tick of a nanosecond. */
static uint64_t last_tick(const struct trace_clock *clock, uint64_t time)
{
	uint64_t tsc = trace_clock_tsc(clock, time + 1);

	/* With a fast clock, this may be a tick of the next ns, or the one before. */
	for (int i = 0; i < 2 && tsc && trace_clock_ns(clock, tsc) == time + 1; i++)
		tsc--;
	return tsc;
}

bool trace_seek(const struct trace_queue *queue, uint64_t time, struct trace_segment *segment)
{
	bool is_last = time == UINT64_MAX;
	uint64_t tsc = is_last ? UINT64_MAX : last_tick(queue->clock, time);
	size_t until = is_last ? queue->nr : pieces_until(queue, tsc);
	struct trace_point point;

	while (time && until--) {
		const struct trace_piece *piece = &queue->pieces[until];

		if (trace_seek_point(piece->begin, (size_t)(piece->end - piece->begin), piece->near,
				     tsc, &point)) {
			find_before(piece, point.offset + 1, &point);
			make_found(queue, until, &point, segment);
			return true;
		}
	}
	return first_from(queue, 0, segment);
}

bool trace_next(const struct trace_queue *queue, struct trace_segment *segment)
{
	const struct trace_piece *piece = &queue->pieces[segment->buffer];
	struct trace_point point;

	if (segment->end < piece->end &&
	    find_in(piece, (size_t)(segment->end - piece->begin), &point)) {
		make_segment(queue, segment->buffer, &point, true, segment);
		return true;
	}
	return first_from(queue, segment->buffer + 1, segment);
}

bool trace_previous(const struct trace_queue *queue, struct trace_segment *segment)
{
	const struct trace_piece *piece = &queue->pieces[segment->buffer];
	struct trace_point point;

	if (find_before(piece, (size_t)(segment->begin - piece->begin), &point)) {
		make_found(queue, segment->buffer, &point, segment);
		return true;
	}
	return last_before(queue, segment->buffer, segment);
}
