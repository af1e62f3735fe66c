/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Intel PT packets: how long each is, and what those say that tell time. */
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
	PT_PACKET_BRANCH, /* TNT, TIP, TIP.PGE, TIP.PGD: the CPU went on */
	PT_PACKET_PSB,
	PT_PACKET_PSBEND,
	PT_PACKET_TSC, /* value: 56 bits of the TSC */
	PT_PACKET_TMA, /* value: 16 bits of the CTC; fast: TSC cycles since it changed */
	PT_PACKET_MTC, /* value: 8 bits of the CTC */
	PT_PACKET_CYC, /* value: core cycles since the last one */
	PT_PACKET_CBR, /* value: ratio of the core's clock to the bus's */
	PT_PACKET_OVF,
	PT_PACKET_BBP, /* value: bytes of a BIP packet in the block that begins here */
	PT_PACKET_BEP,
};

struct pt_packet {
	enum pt_packet_type type;
	size_t len;
	uint64_t value;
	uint16_t fast;
};

/* The packet that `left` bytes begin with. bip_len: of the block it is in, or 0: it is in none.
 * False: it is of no known kind, or cut off. */
bool pt_packet_read(const uint8_t *at, size_t left, size_t bip_len, struct pt_packet *packet);

/* What the packets that tell time are counted in. Of what is 0 there is none. */
struct pt_clock {
	uint64_t max_nonturbo_ratio;   /* TSC to bus clock */
	uint64_t tsc_ctc_n, tsc_ctc_d; /* TSC to CTC */
	unsigned int mtc_shift;	       /* an MTC packet has the CTC's bits from here on */
};

#endif
