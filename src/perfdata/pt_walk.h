/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The time that Intel PT packets tell, one after another. */
#ifndef PERFDATA_PT_WALK_H
#define PERFDATA_PT_WALK_H

#include "pt_packet.h"

/* As far as a trace is read. Times are of 56 bits, in whatever is above them there is nothing. */
struct pt_walk {
	const struct pt_clock *clock;
	uint64_t tsc;	  /* the last time told, but by CYC packets */
	uint64_t cycles;  /* of the core since; CYC packets tell them */
	uint64_t ratio;	  /* of the core's clock to the bus's; 0: not known */
	uint64_t ctc_tsc; /* when the CTC was 0, had it no end */
	uint64_t ctc;
	unsigned int ctc_bits; /* of MTC packets: so many of the CTC are known; 0: none */
	size_t bip_len;
	unsigned int told; /* how often tsc was told, but by CYC packets */
	bool synced;	   /* tsc is the time */
	bool timed;	   /* what comes next is of this time still */
};

/* Whether the packet is of a known time, which is that of the walk then. Of one cycle the CPU makes
 * several packets, and a CYC packet before them; but two branches may be more than one cycle. */
bool pt_walk_packet(struct pt_walk *walk, const struct pt_packet *packet);

/* What cannot be read, or was lost, took time. */
void pt_walk_lose(struct pt_walk *walk);

/* Its time, with CYC packets. */
uint64_t pt_walk_now(const struct pt_walk *walk);

#endif
