/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files of the trace. */
#ifndef DECODE_TRACE_INTERNAL_H
#define DECODE_TRACE_INTERNAL_H

#include "trace/trace.h"

#include "sideband/trace_clock.h"

/* Contiguous bytes, which may begin before a synchronisation point. */
struct trace_piece {
	const uint8_t *begin, *end;
	const uint8_t *limit; /* end of the bytes that the next piece repeats */
	uint64_t offset;      /* of `begin` in the queue */
	uint64_t near;	      /* a nearby TSC; 0: unknown */
	bool joined;	      /* continues the previous piece */
};

struct trace_queue {
	int cpu;
	const struct trace_clock *clock;
	struct trace_piece *pieces;
	size_t nr;
	uint64_t size;
};

/* Data of an AUXTRACE record or a sample. */
struct trace_chunk {
	const uint8_t *bytes; /* chunks of a queue keep the order of the file */
	uint64_t size;
	uint64_t near;
	int32_t cpu;
};

/* Joins the chunks of a queue. Returns 0 or -ENOMEM. */
int trace_join(struct trace_queue *queue, const struct trace_chunk *chunks, size_t nr);

/* A synchronisation point in memory. */
struct trace_point {
	size_t offset;
	uint64_t tsc; /* full TSC; 0: none */
};

/* Finds the first point at or after `from`, or the last one before `before`; with `timed`, only
 * points with a time. False: none. */
bool trace_find_point(const uint8_t *bytes, size_t size, uint64_t near, size_t from, bool timed,
		      struct trace_point *point);
bool trace_find_point_before(const uint8_t *bytes, size_t size, uint64_t near, size_t before,
			     bool timed, struct trace_point *point);

/* Finds the last point up to the TSC, else the first. A point without a time has that of the
 * previous one. False: none. */
bool trace_seek_point(const uint8_t *bytes, size_t size, uint64_t near, uint64_t tsc,
		      struct trace_point *point);

#endif
