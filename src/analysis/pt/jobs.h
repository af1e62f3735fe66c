/* SPDX-License-Identifier: GPL-2.0-only */
/* Decodes segments ahead of the reader, with or without threads. Memory is bounded: two chunks for
 * the next segment of each CPU; for all other segments, some chunks per thread. */
#ifndef DECODE_JOBS_H
#define DECODE_JOBS_H

#include "pt/blocks.h"

/* Small enough to stay in the cache until read. */
#define CHUNK_ITEMS 1024

struct chunk {
	struct chunk *next;
	struct trace_segment segment;
	bool first, last;	     /* chunk of the segment */
	struct blocks_counts counts; /* of the segment, in its last chunk */
	size_t nr;
	struct decode_item items[CHUNK_ITEMS];
};

struct code;
struct jobs;

struct jobs_opts {
	const struct blocks_env *env;
	const struct trace *trace;
	struct code *code;
	uint64_t begin, end; /* ns; end 0: no end */
	uint64_t tail;	     /* see struct decode_opts */
	int cpu;	     /* negative: all */
	unsigned int threads;
};

int jobs_new(struct jobs **ret, const struct jobs_opts *opts) _must_check_;
void jobs_free(struct jobs *jobs);

/* Number of traced CPUs or threads. */
size_t jobs_nr_sources(const struct jobs *jobs);

/* A lower bound of the next chunk's time. False: no chunk. */
bool jobs_next_time(struct jobs *jobs, size_t source, uint64_t *time);

/* Waits for the next chunk of a source, or decodes it. Return it by jobs_return_chunk(). NULL: end.
 * Returns 0 or a negative errno. */
int jobs_take_chunk(struct jobs *jobs, size_t source, struct chunk **ret) _must_check_;
void jobs_return_chunk(struct jobs *jobs, struct chunk *chunk);

#endif
