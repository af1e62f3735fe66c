/* SPDX-License-Identifier: GPL-2.0-only */
/* The Intel PT of a perf.data: the snapshot of each CPU, and the places where decoding can begin.
 *
 *	trace_new(&trace, file, sb, &why);
 *	queue = trace_queue(trace, i);
 *	for (ok = trace_seek_segment(queue, from, &segment); ok && segment.time < until;
 *	     ok = trace_next_segment(queue, &segment))
 *		...
 *
 * Segments are found on demand: 1 GiB costs nothing if only its end is used.
 * Immutable after trace_new(), so threads may share it. */
#ifndef DECODE_TRACE_H
#define DECODE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perfdata_read.h"
#include "util.h"

struct sideband;
struct trace;
struct trace_queue;

/* A place where decoding can begin, up to the next one. */
struct trace_segment {
	const uint8_t *begin; /* the PSB */
	const uint8_t *end;   /* the next segment, or the end of the queue */
	const uint8_t *limit; /* end of bytes that may be read ahead: >= end */
	uint64_t offset;      /* of `begin` in the queue, for messages; ascending */
	uint64_t tsc;	      /* from PSB+, all 64 bits; 0: none */
	uint64_t time;	      /* ns of perf's clock; 0: unknown */
	bool joined;	      /* continues the previous segment: is not the first */
};

/* Returns 0, or a negative errno with *why, for the caller to free. -ENODATA: no Intel PT in the
 * file; -ENOTSUP: no snapshots of CPUs, one each. `file` and `sb` must stay valid. */
int trace_new(struct trace **ret, const struct perfdata_file *file, const struct sideband *sb,
	      char **why) _must_check_;
void trace_free(struct trace *trace);

/* Queues, sorted by CPU. */
size_t trace_nr_queues(const struct trace *trace);
const struct trace_queue *trace_queue(const struct trace *trace, size_t i);

int trace_queue_cpu(const struct trace_queue *queue);

/* In bytes. */
uint64_t trace_size(const struct trace_queue *queue);

/* Finds the last segment that begins at or before `time`, else the first. Segments without a time
 * have that of the previous one. 0: the first; UINT64_MAX: the last. False: none. */
bool trace_seek_segment(const struct trace_queue *queue, uint64_t time,
			struct trace_segment *segment);

/* Moves to the next or the previous segment. False: none; *segment is unchanged. */
bool trace_next_segment(const struct trace_queue *queue, struct trace_segment *segment);
bool trace_previous_segment(const struct trace_queue *queue, struct trace_segment *segment);

struct psb {
	size_t size;	    /* including PSBEND; 0: no PSBEND */
	unsigned int modes; /* number of MODE.Exec packets */
	bool no_mode;	    /* no mode, neither here nor before the next code */
	bool on;	    /* tracing is on */
	bool guest;	    /* a virtual machine runs */
};

/* Reads the PSB+ at the begin of a trace. */
struct psb psb_read(const uint8_t *begin, const uint8_t *end);

#endif
