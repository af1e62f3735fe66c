/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files of blocks: times, the current task, resuming after an error. */
#ifndef DECODE_BLOCKS_INTERNAL_H
#define DECODE_BLOCKS_INTERNAL_H

#include <intel-pt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/sideband.h"
#include "pt/blocks.h"
#include "pt/timing.h"
#include "util.h"

/* ---- the current task ----------------------------------------------------------------------- */

struct current_task {
	const struct sideband_task *tasks;
	size_t nr, next;  /* the next switch */
	int32_t pid, tid; /* -1: unknown */
	/* The segment began during a switch to `next`; no branch to __switch_to was seen since. */
	bool midway;
};

/* Begins a segment of a CPU. */
void current_task_begin(struct current_task *current, const struct sideband_task *tasks, size_t nr,
			uint64_t time);

/* ---- resume.c ------------------------------------------------------------------------------- */

struct resume;

struct resume_point {
	uint64_t ip;
	uint64_t offset; /* of the continuation in the trace */
	bool overflowed; /* an overflow precedes it */
	bool is_event;	 /* begins with an event */
};

/* For a trace that begins with a PSB. `config` of its decoder becomes that of a decoder for the
 * copy. */
int resume_new(struct resume **ret, struct pt_config *config) _must_check_;
void resume_free(struct resume *resume);

/* Finds the next point at or after an offset of the trace, outside of virtual machines. Each is
 * returned once. False: none. */
bool resume_find(struct resume *resume, uint64_t offset, struct resume_point *point);

/* Writes the PSB. Returns its offset in the copy. */
uint64_t resume_write(struct resume *resume, const struct resume_point *point);

/* Converts an offset in the copy to one in the trace. */
uint64_t resume_offset(uint64_t offset);

/* ---- block_items.c -------------------------------------------------------------------------- */

/* These versions of libipt have always read the packet that is used next: the decoder is at that
 * packet, or after it if it is a TNT. */
#define READS_AHEAD (LIBIPT_VERSION >= 0x201)

struct blocks {
	const struct blocks_env *env;
	const struct trace_clock *clock;
	struct trace_segment segment;
	uint64_t until;	    /* time of the next segment, an upper bound of all packets here */
	bool joins;	    /* contiguous with the next segment */
	unsigned int modes; /* modes in its PSB+ that were not reached yet */
	struct pt_block_decoder *decoder;
	struct pt_config config;
	struct resume *resume; /* NULL: decodes the trace itself */
	struct code_view *view;
	struct current_task task;
	struct timing *timing;

	uint64_t now;	/* ns */
	uint64_t check; /* next time when the running task or its mappings may change */
	uint64_t mark;	/* next mark, which no run spans */
	struct decode_item blank;

	struct decode_item *items;
	size_t nr;
	struct decode_item *open; /* last item, whose end is unknown yet */
	struct decode_item carried;
	struct pt_block part; /* begin of the next block; ninsn 0: none */
	int status;	      /* status of the decoder */
	uint64_t position;    /* decoder's offset at the last request */
	uint64_t passed;      /* decoder's offset before the last block: it reads events ahead */
	uint64_t missing;     /* address of missing code */
	uint64_t nr_blocks;
	uint64_t at; /* decoder's offset BLOCKS_WITHOUT_PACKET blocks ago */
	bool is_carried;
	bool flowing; /* the next code continues known code */
	bool lost;    /* an overflow lost trace; it is unknown where execution continues */
	bool aborted; /* a transaction was aborted; the branch out of it follows */
	bool at_end;  /* of the packets: the remaining code is what needs none */
	bool ran;     /* code ran since the begin or a resume */
	bool broken;  /* decoding resumes at the next address in the trace */
	bool done;
	struct blocks_counts counts;
};

static inline struct decode_item *blocks_add_item(struct blocks *blocks, enum decode_kind kind)
{
	struct decode_item *item = &blocks->items[blocks->nr++];

	*item = blocks->blank;
	item->time = blocks->now;
	item->kind = kind;
	return item;
}

/* Finds out whether another task runs, or the mappings have changed. */
int blocks_update_image(struct blocks *blocks);

/* The decoder's offset in the segment; 0: no position. */
static inline uint64_t blocks_position(const struct blocks *blocks)
{
	uint64_t offset = 0;

	(void)pt_blk_get_offset(blocks->decoder, &offset);
	return blocks->resume ? resume_offset(offset) : offset;
}

/* Passes the packets up to the decoder's position. Returns as timing_move(). */
bool blocks_move_timing(struct blocks *blocks);

/* tsc 0: unknown. */
int blocks_set_time(struct blocks *blocks, uint64_t tsc);

/* Execution continues at `ip`, perhaps of another task. */
int blocks_go_on(struct blocks *blocks, uint64_t ip);

/* Execution continues at `ip`: ends the open item, or begins one. */
int blocks_arrive(struct blocks *blocks, uint64_t ip);

/* Something other than its code ended the open item. NULL: no code was executed since the last
 * branch. */
struct decode_item *blocks_interrupted(struct blocks *blocks, enum decode_end end);

#endif
