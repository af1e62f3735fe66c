// SPDX-License-Identifier: GPL-2.0-only
/* Finds what the snapshots of a queue have in common, and which ones continue the previous one. */
#include "trace/trace_internal.h"

#include <string.h>

#include "pt_packet.h"

/* perf pads traces with at most this many zeros. */
#define PADDING_MAX 7
/* Without times, fewer equal bytes may be a coincidence. */
#define COMMON_MIN 64

static struct trace_piece piece_of(const struct trace_chunk *chunk)
{
	return (struct trace_piece){
		.begin = chunk->bytes,
		.end = chunk->bytes + chunk->size,
		.limit = chunk->bytes + chunk->size,
		.near = chunk->near,
	};
}

static size_t size_of(const struct trace_piece *piece)
{
	return (size_t)(piece->end - piece->begin);
}

/* By content: compares from the last synchronisation point of `a`, and looks for the first one of
 * `b`. */
static bool find_bytes(const struct trace_piece *a, const struct trace_piece *b, size_t *in_a,
		       size_t *in_b)
{
	size_t size = size_of(a);
	struct trace_point last;
	const uint8_t *found;

	if (!trace_find_point_before(a->begin, size, 0, size, false, &last))
		return false;
	for (size_t i = 0; i < PADDING_MAX && !a->begin[size - 1]; i++)
		size--;
	if (size - last.offset < COMMON_MIN)
		return false;
	found = memmem(b->begin, size_of(b), a->begin + last.offset, size - last.offset);
	if (!found)
		return false;
	*in_a = last.offset;
	*in_b = (size_t)(found - b->begin);
	return true;
}

/* Finds the last synchronisation point of `a` in `b`, by time or else by content. */
static bool find_common(const struct trace_piece *a, const struct trace_piece *b, size_t *in_a,
			size_t *in_b)
{
	struct trace_point last, same;

	if (!trace_find_point_before(a->begin, size_of(a), a->near, size_of(a), true, &last))
		return find_bytes(a, b, in_a, in_b);
	if (!trace_seek_point(b->begin, size_of(b), b->near, last.tsc, &same))
		return false;
	if (!same.tsc &&
	    !trace_find_point_before(b->begin, size_of(b), b->near, same.offset, true, &same))
		return false;
	if (same.tsc != last.tsc || size_of(b) - same.offset < size_of(a) - last.offset)
		return false;
	*in_a = last.offset;
	*in_b = same.offset;
	return true;
}

/* Whether `b` has nothing newer than the end of `a`, the previous piece. */
static bool is_old(const struct trace_piece *a, const struct trace_piece *b)
{
	struct trace_point last, newest;

	return trace_find_point_before(a->begin, size_of(a), a->near, size_of(a), true, &last) &&
	       trace_find_point_before(b->begin, size_of(b), b->near, size_of(b), true, &newest) &&
	       newest.tsc < last.tsc;
}

/* The common part of two snapshots goes to the later one, which continues the earlier one. */
int trace_join(struct trace_queue *queue, const struct trace_chunk *chunks, size_t nr)
{
	struct trace_piece *pieces = calloc(nr, sizeof(*pieces));
	size_t in_a, in_b;

	if (!pieces)
		return -ENOMEM;
	queue->pieces = pieces;
	for (size_t i = 0; i < nr; i++) {
		struct trace_piece piece = piece_of(&chunks[i]);
		struct trace_piece *last = queue->nr ? &pieces[queue->nr - 1] : NULL;

		if (last && find_common(last, &piece, &in_a, &in_b)) {
			last->end = last->begin + in_a;
			piece.begin += in_b;
			piece.joined = true;
			if (last->end == last->begin) {
				piece.joined = last->joined;
				queue->nr--;
			}
		} else if (last && is_old(last, &piece)) {
			continue;
		}
		pieces[queue->nr++] = piece;
	}
	return 0;
}
