/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Lengths of Intel PT packets and the contents of timing packets. */
#ifndef PERFDATA_PT_PACKET_H
#define PERFDATA_PT_PACKET_H

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

#endif
