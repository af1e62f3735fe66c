// SPDX-License-Identifier: GPL-2.0-only
/* Finds what the buffers of a queue have in common, and which ones continue the previous one. */
#include "trace/trace_internal.h"

#include <string.h>

#include "pt_packet.h"
#include "trace/psb.h"

/* perf pads traces with at most this many zeros. */
#define PADDING_MAX 7
/* Without times, fewer equal bytes may be a coincidence. */
#define COMMON_MIN 64
/* Bytes that a decoder may read beyond the synchronisation point at the end of a copy. */
#define AHEAD 256

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
int trace_join_snapshots(struct trace_queue *queue, const struct trace_chunk *chunks, size_t nr)
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

static int add_copy(struct trace_piece *piece, const uint8_t *bytes, size_t size)
{
	size_t old = piece->copy ? size_of(piece) : 0;
	uint8_t *grown = realloc(piece->copy, old + size ?: 1);

	if (!grown)
		return -ENOMEM;
	memcpy(grown + old, bytes, size);
	piece->begin = piece->copy = grown;
	piece->end = piece->limit = grown + old + size;
	return 0;
}

/* The decoder needs the whole PSB+ to end what precedes the PSB. */
static bool is_whole(const struct trace_chunk *chunk, const struct trace_point *point)
{
	return psb_read(chunk->bytes + point->offset, chunk->bytes + chunk->size).size;
}

static bool find_whole(const struct trace_chunk *chunk, struct trace_point *point)
{
	bool found = trace_find_point(chunk->bytes, chunk->size, 0, 0, false, point);

	while (found && !is_whole(chunk, point))
		found = trace_find_point(chunk->bytes, chunk->size, 0, point->offset + PT_PSB_LEN,
					 false, point);
	return found;
}

/* At or after `first`. */
static void find_last_whole(const struct trace_chunk *chunk, const struct trace_point *first,
			    struct trace_point *last)
{
	size_t before = chunk->size;

	while (trace_find_point_before(chunk->bytes, chunk->size, 0, before, false, last) &&
	       last->offset > first->offset) {
		if (is_whole(chunk, last))
			return;
		before = last->offset;
	}
	*last = *first;
}

/* Copies a chunk from its last synchronisation point, and the next chunks up to their first point.
 * Returns the number of chunks that end in the copy, or -ENOMEM. */
static ssize_t copy_seam(struct trace_piece *seam, const struct trace_chunk *chunks, size_t nr,
			 size_t offset)
{
	struct trace_point first;
	int r = add_copy(seam, chunks->bytes + offset, chunks->size - offset);

	for (size_t i = 1; i < nr && !r; i++) {
		const struct trace_chunk *chunk = &chunks[i];

		if (find_whole(chunk, &first)) {
			size_t rest = chunk->size - first.offset;
			size_t ahead = rest < AHEAD ? rest : AHEAD;

			r = add_copy(seam, chunk->bytes, first.offset + ahead);
			seam->end -= r ? 0 : ahead;
			return r ? r : (ssize_t)i;
		}
		r = add_copy(seam, chunk->bytes, chunk->size);
	}
	return r ? r : (ssize_t)nr;
}

/* Chunks of a byte stream, cut anywhere. */
int trace_join_stream(struct trace_queue *queue, const struct trace_chunk *chunks, size_t nr)
{
	struct trace_piece *pieces = calloc(2 * nr, sizeof(*pieces));

	if (!pieces)
		return -ENOMEM;
	queue->pieces = pieces;
	for (size_t i = 0; i < nr;) {
		struct trace_piece piece = piece_of(&chunks[i]), seam = { .near = piece.near };
		struct trace_point first, last;
		ssize_t used = 1;

		/* A chunk that continues a seam begins at the end of the seam. */
		if (!(queue->nr ? find_whole(&chunks[i], &first)
				: trace_find_point(piece.begin, size_of(&piece), 0, 0, false,
						   &first))) {
			i++;
			continue;
		}
		find_last_whole(&chunks[i], &first, &last);
		if (i + 1 < nr) {
			used = copy_seam(&seam, &chunks[i], nr - i, last.offset);
			if (used < 0) {
				free(seam.copy);
				return -ENOMEM;
			}
			piece.end = piece.begin + last.offset;
		}
		piece.begin += first.offset;
		piece.joined = queue->nr > 0;
		if (piece.begin < piece.end)
			pieces[queue->nr++] = piece;
		if (seam.copy) {
			seam.joined = queue->nr > 0;
			pieces[queue->nr++] = seam;
		}
		i += (size_t)used;
	}
	return 0;
}
