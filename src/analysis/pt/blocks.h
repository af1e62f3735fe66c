/* SPDX-License-Identifier: GPL-2.0-only */
/* Decodes one segment of a trace with libipt's block decoder. */
#ifndef DECODE_BLOCKS_H
#define DECODE_BLOCKS_H

#include <intel-pt.h>

#include "code/sideband.h"
#include "pt/item.h"
#include "pt/trace.h"
#include "util.h"

struct blocks;
struct code_view;

/* Shared by all segments of a file. */
struct blocks_env {
	const struct sideband *sideband;
	struct pt_config config;
	uint64_t switch_to; /* the kernel's __switch_to; 0: unknown or untraced */
	bool runs;	    /* see struct decode_opts, also for `marks` */
	uint64_t marks[DECODE_MARKS];
};

/* Distances of times while code ran, by their binary logarithm: how exact times are. */
#define BLOCKS_STEPS 40
struct blocks_steps {
	uint64_t nr[BLOCKS_STEPS], sum_ns[BLOCKS_STEPS];
};

struct blocks_counts {
	struct blocks_steps steps;
	uint64_t errors, overflows;
	struct decode_item first_error; /* the first error, if any */
	uint32_t cycles; /* to be added to the first item of the next segment with a count */
	bool joined; /* execution continues into the next segment, whose DECODE_BEGIN is dropped */
};

/* Minimum room for items. */
#define BLOCKS_ROOM_MIN 64

void blocks_env_init(struct blocks_env *env, const struct sideband *sideband, uint64_t switch_to);

/* For a segment of a queue. next: the following one, or NULL. If they are contiguous, the last
 * block ends where `next` begins. All arguments must stay valid. Returns 0 or -ENOMEM. */
int blocks_new(struct blocks **ret, const struct blocks_env *env, const struct trace_queue *queue,
	       const struct trace_segment *segment, const struct trace_segment *next) _must_check_;
void blocks_free(struct blocks *blocks);

/* Continues decoding with the view of the calling thread. Returns 0 or -ENOMEM. */
int blocks_read(struct blocks *blocks, struct code_view *view, struct decode_item *items,
		size_t room, size_t *nr) _must_check_;

/* Whether the end is reached. */
bool blocks_done(const struct blocks *blocks);

/* Valid at the end. */
const struct blocks_counts *blocks_counts(const struct blocks *blocks);

#endif
