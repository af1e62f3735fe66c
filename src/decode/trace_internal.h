/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of the trace share. */
#ifndef DECODE_TRACE_INTERNAL_H
#define DECODE_TRACE_INTERNAL_H

#include "trace.h"

#include "trace_clock.h"

/* Bytes without a gap. The first synchronisation point need not be at the begin. */
struct trace_piece {
	const uint8_t *begin, *end;
	const uint8_t *limit; /* what is behind the end stands in the next piece too */
	uint8_t *copy;	      /* to be freed: of what is in two places in the file */
	uint64_t offset;      /* of begin, in the queue */
	uint64_t near;	      /* a TSC of about then; 0: not known */
	bool joined;	      /* the piece before runs on into this one */
};

struct trace_queue {
	struct trace_whose whose;
	const struct trace_clock *clock;
	struct trace_piece *pieces;
	size_t nr;
	uint64_t size;
};

/* Of the file: what one AUXTRACE record or sample has. */
struct trace_chunk {
	const uint8_t *bytes; /* chunks of one queue are in the order of the file */
	uint64_t size;
	uint64_t near;
	int32_t cpu, tid; /* tid: -1 if cpu is not */
};

/* What follows each other without overlap, or with copies of what is cut apart. `chunks`: of the
 * queue. 0 or -ENOMEM. */
int trace_join_snapshots(struct trace_queue *queue, const struct trace_chunk *chunks, size_t nr);
int trace_join_stream(struct trace_queue *queue, const struct trace_chunk *chunks, size_t nr);

/* A synchronisation point in a piece of memory. */
struct trace_point {
	size_t offset;
	uint64_t tsc; /* all 64 bits; 0: it has none */
};

/* The first at `from` or behind it, or the last that begins before `before`; of those only that
 * have a time, if so. False: there is none. */
bool trace_find_point(const uint8_t *bytes, size_t size, uint64_t near, size_t from, bool timed,
		      struct trace_point *point);
bool trace_find_point_before(const uint8_t *bytes, size_t size, uint64_t near, size_t before,
			     bool timed, struct trace_point *point);

/* The last that is of the TSC or older; else the first. What has no time is of the time of what is
 * before it. False: there is none. */
bool trace_seek_point(const uint8_t *bytes, size_t size, uint64_t near, uint64_t tsc,
		      struct trace_point *point);

#endif
