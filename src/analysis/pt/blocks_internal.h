/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files of blocks. */
#ifndef DECODE_BLOCKS_INTERNAL_H
#define DECODE_BLOCKS_INTERNAL_H

#include "pt/blocks.h"

#include "pt/pace.h"
#include "pt/resume.h"
#include "pt/who.h"

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
	struct who who;
	struct pace *pace;

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

struct decode_item *blocks_add(struct blocks *blocks, enum decode_kind kind);

/* The decoder's offset in the segment; 0: no position. */
uint64_t blocks_position(const struct blocks *blocks);

/* Passes the packets up to the decoder's position. Returns as pace_move(). */
bool blocks_move(struct blocks *blocks);

/* tsc 0: unknown. */
int blocks_set_time(struct blocks *blocks, uint64_t tsc);

/* Execution continues at `ip`, perhaps of another task. */
int blocks_go_on(struct blocks *blocks, uint64_t ip);

/* Execution continues at `ip`: ends the open item, or begins one. */
int blocks_arrive(struct blocks *blocks, uint64_t ip);

/* Something other than its code ended the open item. NULL: no code was executed since the last
 * branch. */
struct decode_item *blocks_interrupted(struct blocks *blocks, enum decode_end end);

/* Call if the decoder has an event. */
int blocks_take_event(struct blocks *blocks);

#endif
