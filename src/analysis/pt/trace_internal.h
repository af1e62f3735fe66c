/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files of the trace. */
#ifndef DECODE_TRACE_INTERNAL_H
#define DECODE_TRACE_INTERNAL_H

#include "pt/trace.h"

#include "code/sideband.h"

/* The trace of a CPU: data of an AUXTRACE record or a sample, which may begin before a
 * synchronisation point. */
struct trace_queue {
	const uint8_t *bytes;
	uint64_t size;
	uint64_t near; /* a nearby TSC; 0: unknown */
	int32_t cpu;
	const struct trace_clock *clock;
};

/* A synchronisation point in memory. */
struct trace_point {
	size_t offset;
	uint64_t tsc; /* full TSC; 0: none */
};

/* Finds the first point at or after `from` in the first `size` bytes, or the last one before
 * `before`; with `timed`, only points with a time. False: none. */
bool trace_find_point(const struct trace_queue *queue, size_t size, size_t from, bool timed,
		      struct trace_point *point);
bool trace_find_point_before(const struct trace_queue *queue, size_t before, bool timed,
			     struct trace_point *point);

/* Finds the last point up to the TSC, else the first. A point without a time has that of the
 * previous one. False: none. */
bool trace_seek_point(const struct trace_queue *queue, uint64_t tsc, struct trace_point *point);

#endif
