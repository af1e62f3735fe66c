/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Tracks the time through a sequence of Intel PT packets. */
#ifndef PERFDATA_PT_WALK_H
#define PERFDATA_PT_WALK_H

#include "pt_packet.h"

/* State after the last packet. Times have 56 bits; the upper bits are undefined. */
struct pt_walk {
	const struct pt_clock *clock;
	uint64_t tsc;	  /* last time from TSC or MTC packets */
	uint64_t cycles;  /* core cycles since, from CYC packets */
	uint64_t ratio;	  /* core:bus; 0: unknown */
	uint64_t ctc_tsc; /* TSC at which the unwrapped CTC was 0 */
	uint64_t ctc;
	unsigned int ctc_bits; /* known bits of the CTC above mtc_shift; 0: none */
	size_t bip_len;
	unsigned int told; /* updates of tsc */
	bool synced;	   /* tsc is valid */
};

void pt_walk_packet(struct pt_walk *walk, const struct pt_packet *packet);

/* The current time, including CYC packets. */
uint64_t pt_walk_now(const struct pt_walk *walk);

#endif
