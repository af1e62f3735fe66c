/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of blocks share. */
#ifndef DECODE_BLOCKS_INTERNAL_H
#define DECODE_BLOCKS_INTERNAL_H

#include "blocks/blocks.h"

#include "blocks/pace.h"
#include "blocks/resume.h"
#include "sideband/who.h"

/* From then on libipt has always read the packet that is used next, too: it stands at it, or, of
 * TNT, behind it. */
#define READS_AHEAD (LIBIPT_VERSION >= 0x201)

struct blocks {
	const struct blocks_env *env;
	const struct trace_clock *clock;
	struct trace_segment segment;
	uint64_t until;	    /* time of the next segment; no packet of this one is later */
	bool joins;	    /* the next segment */
	unsigned int modes; /* of its PSB+, that were not met yet */
	struct pt_block_decoder *decoder;
	struct pt_config config;
	struct resume *resume; /* NULL: the trace itself is decoded */
	struct code_view *view;
	struct who who;
	struct pace *pace;

	uint64_t now;	/* ns */
	uint64_t check; /* when the running task or its mappings may change */
	uint64_t mark;	/* the next one: no run goes on from before it */
	struct decode_item blank;

	struct decode_item *items;
	size_t nr;
	struct decode_item *open; /* the last one, whose end is not known yet */
	struct decode_item carried;
	struct pt_block part; /* of the block to come; ninsn 0: none */
	int status;	      /* of the decoder */
	uint64_t position;    /* offset of the decoder at the last request */
	uint64_t passed;      /* of the decoder, before the last block: it reads events ahead */
	uint64_t missing;     /* code at this address */
	uint64_t nr_blocks;
	uint64_t at; /* of the decoder, BLOCKS_WITHOUT_PACKET ago */
	bool is_carried;
	bool flowing; /* the code that follows was reached by what is known */
	bool lost;    /* by an overflow; where it ends is not known */
	bool aborted; /* a transaction; the branch out of it follows */
	bool at_end;  /* of the packets: what code follows is as far as it needs none */
	bool ran;     /* code, since it began or decoding went on */
	bool broken;  /* decoding goes on where the trace tells an address next */
	bool done;
	struct blocks_counts counts;
};

struct decode_item *blocks_add(struct blocks *blocks, enum decode_kind kind);

/* Of the decoder, in the segment; of one that stands nowhere 0. */
uint64_t blocks_position(const struct blocks *blocks);

/* The packets up to where the decoder stands were passed. Returns as pace_move(). */
bool blocks_move(struct blocks *blocks);

/* tsc: 0 if it is not known. */
int blocks_set_time(struct blocks *blocks, uint64_t tsc);

/* Where it goes on, it may be another task that runs. */
int blocks_go_on(struct blocks *blocks, uint64_t ip);

/* Execution goes on there: the open item ends, or one begins. */
int blocks_arrive(struct blocks *blocks, uint64_t ip);

/* The open item ended by something else than its code. Without one nothing was executed since the
 * branch to here. */
struct decode_item *blocks_interrupted(struct blocks *blocks, enum decode_end end);

/* The decoder has one. */
int blocks_take_event(struct blocks *blocks);

#endif
