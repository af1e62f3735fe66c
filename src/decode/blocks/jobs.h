/* SPDX-License-Identifier: GPL-2.0-only */
/* Decodes segments ahead of the one who reads, in threads or without.
 *
 * What is held decoded is bounded: of the segments that come next, one of each CPU, two chunks
 * each; of all others some chunks a thread. */
#ifndef DECODE_JOBS_H
#define DECODE_JOBS_H

#include "blocks/blocks.h"

/* Small enough to stay in the cache until read. */
#define CHUNK_ITEMS 1024

struct chunk {
	struct chunk *next;
	struct trace_segment segment;
	bool first, last;	     /* of the segment */
	struct blocks_counts counts; /* of the last: of the segment */
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
	uint64_t tail;	     /* as of struct decode_opts */
	int cpu;	     /* negative: all */
	unsigned int threads;
};

int jobs_new(struct jobs **ret, const struct jobs_opts *opts) _must_check_;
void jobs_free(struct jobs *jobs);

/* Number of traced CPUs or threads. */
size_t jobs_nr_sources(const struct jobs *jobs);

/* A lower bound of the next chunk's time. False: there is none. */
bool jobs_next_time(struct jobs *jobs, size_t source, uint64_t *time);

/* Waits for or decodes the next chunk of a source, to be returned by jobs_give(). NULL: none.
 * Returns 0 or a negative errno. */
int jobs_take(struct jobs *jobs, size_t source, struct chunk **ret) _must_check_;
void jobs_give(struct jobs *jobs, struct chunk *chunk);

#endif
