/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Intel PT: lengths of packets and the contents of timing packets, synchronisation points, and the
 * time through a sequence of packets. */
#ifndef PERFDATA_PT_PACKETS_H
#define PERFDATA_PT_PACKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PT_PSB_LEN 16
#define PT_PSB_BYTES "\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82"

enum pt_packet_type {
	PT_PACKET_OTHER,
	PT_PACKET_PAD,
	PT_PACKET_BRANCH, /* TNT, TIP, TIP.PGE, TIP.PGD: execution has advanced */
	PT_PACKET_PSB,
	PT_PACKET_PSBEND,
	PT_PACKET_TSC, /* value: 56 bits of the TSC */
	PT_PACKET_TMA, /* value: 16 bits of the CTC; fast: TSC ticks since the CTC changed */
	PT_PACKET_MTC, /* value: 8 bits of the CTC */
	PT_PACKET_CYC, /* value: core cycles since the last CYC */
	PT_PACKET_CBR, /* value: core:bus ratio */
	PT_PACKET_OVF,
	PT_PACKET_BBP, /* value: size of the BIP packets in this block */
	PT_PACKET_BEP,
	PT_PACKET_CFE, /* value: enum pt_cfe */
};

/* Types of control flow events, from Event Trace. */
enum pt_cfe {
	PT_CFE_SMI = 3,
	PT_CFE_VMENTRY = 7,
	PT_CFE_VMEXIT = 8,
	PT_CFE_VMEXIT_INTR = 9,
};

struct pt_packet {
	enum pt_packet_type type;
	size_t len;
	uint64_t value;
	uint16_t fast;
};

/* Reads the packet at the start of `left` bytes. bip_len: size of BIP packets in the current block,
 * or 0 outside a block. False: unknown or truncated. */
bool pt_packet_read(const uint8_t *at, size_t left, size_t bip_len, struct pt_packet *packet);

/* Parameters of timing packets; 0: unavailable. */
struct pt_clock {
	uint64_t max_nonturbo_ratio;   /* TSC to bus clock */
	uint64_t tsc_ctc_n, tsc_ctc_d; /* TSC to CTC */
	unsigned int mtc_shift;	       /* MTC packets contain the CTC from this bit on */
};

/* A PSB, where decoding can start. */
struct pt_psb {
	size_t offset;
	uint64_t tsc; /* 56 bits, from PSB+; 0: none, or PSB+ is truncated */
};

/* Finds the bytes of the next PSB at or after `from`. False: there is none. */
bool pt_psb_find(const uint8_t *trace, size_t len, size_t from, size_t *offset);

/* The same with its time. Returns 1, or 0 if there is none. */
int pt_psb_find_timed(const uint8_t *trace, size_t len, size_t from, struct pt_psb *psb);

/* The TSC of the first PSB+ with a TSC at or after `from`, or 0. */
uint64_t pt_psb_first_tsc(const uint8_t *trace, size_t len, size_t from);

/* Finds the PSB at which a ring's trace should begin. Skips trace from before `since_tsc`, by the
 * TSCs of PSBs. If all PSBs are older, returns the last one, so that something can be decoded.
 * Returns len without a PSB. */
size_t pt_psb_find_begin(const uint8_t *trace, size_t len, uint64_t since_tsc);

/* The time through a sequence of packets. */

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
uint64_t pt_walk_current_tsc(const struct pt_walk *walk);

#endif
