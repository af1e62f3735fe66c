/* SPDX-License-Identifier: GPL-2.0-only */
/* The Intel PT of a perf.data: for each CPU (or thread) its buffers, without what successive
 * snapshots have in common, and the places where decoding can begin.
 *
 *	trace_new(&trace, file, sb, &why);
 *	queue = trace_queue(trace, i);
 *	for (ok = trace_seek(queue, from, &segment); ok && segment.time < until;
 *	     ok = trace_next(queue, &segment))
 *		...
 *
 * Segments are found when they are asked for: 1 GiB costs nothing where only its end is wanted.
 * Nothing is changed after trace_new(): threads may share it. */
#ifndef DECODE_TRACE_H
#define DECODE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read.h"
#include "util.h"

struct sideband;
struct trace;
struct trace_queue;

/* Decoding can begin at each. */
struct trace_segment {
	const uint8_t *begin; /* the PSB */
	const uint8_t *end;   /* the next segment, or the end of the buffer */
	const uint8_t *limit; /* what is read ahead must end here: >= end */
	uint64_t offset;      /* of begin in the queue's trace: for messages; grows */
	uint64_t tsc;	      /* of the PSB+, all 64 bits; 0: it has none */
	uint64_t time;	      /* ns on perf's clock; 0: not known */
	bool joined;	      /* the segment before runs on into this one */
	size_t buffer;	      /* of the queue; from 0 on */
};

/* Returns 0 or a negative errno with *why, for the caller to free. -ENODATA: the file has no trace
 * of Intel PT. `file` and `sb` must stay. */
int trace_new(struct trace **ret, const struct perfdata_file *file, const struct sideband *sb,
	      char **why) _must_check_;
void trace_free(struct trace *trace);

/* Queues in the order of their CPUs. */
size_t trace_nr(const struct trace *trace);
const struct trace_queue *trace_queue(const struct trace *trace, size_t i);

struct trace_whose {
	int cpu;      /* -1: of a thread, wherever it ran */
	int pid, tid; /* -1: of a CPU */
};
struct trace_whose trace_whose(const struct trace_queue *queue);

/* Bytes of the queue, overlaps left out. */
uint64_t trace_size(const struct trace_queue *queue);

/* The last segment that begins at `time` or before; else the first. Those without a time are of the
 * time of what is before them. 0: the first, UINT64_MAX: the last. False: there is none. */
bool trace_seek(const struct trace_queue *queue, uint64_t time, struct trace_segment *segment);

/* The segment behind, or before, the given one. False: there is none; *segment stays. */
bool trace_next(const struct trace_queue *queue, struct trace_segment *segment);
bool trace_previous(const struct trace_queue *queue, struct trace_segment *segment);

#endif
