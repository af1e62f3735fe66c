// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Encodings are from the Intel SDM, volume 3, chapter "Intel Processor Trace", section "Packet
 * Definitions". */
#include "pt_packets.h"

#include <string.h>

#define PAD 0x00
#define EXTENDED 0x02
#define MODE 0x99
#define TSC 0x19
#define MTC 0x59
#define TRIG 0xd9
#define TRIG_ICNTV 0x40
/* Masked low bits of the first byte. */
#define CYC_MASK 0x03
#define CYC 0x03
#define IP_MASK 0x1f
#define TIP_PGD 0x01
#define TIP 0x0d
#define TIP_PGE 0x11
#define FUP 0x1d
#define BIP_MASK 0x07
#define BIP 0x04

/* Second byte after EXTENDED. */
#define CBR 0x03
#define CFE 0x13
#define CFE_TYPE 0x1f
#define PWRE 0x22
#define PSBEND 0x23
#define BEP 0x33
#define PIP 0x43
#define EVD 0x53
#define EXSTOP 0x62
#define BBP 0x63
#define TMA 0x73
#define PSB 0x82
#define TRACESTOP 0x83
#define PWRX 0xa2
#define LONG_TNT 0xa3
#define BEP_IP 0xb3
#define MWAIT 0xc2
#define MNT 0xc3
#define MNT_THIRD 0x88
#define VMCS 0xc8
#define EXSTOP_IP 0xe2
#define OVF 0xf3
#define PTW_MASK 0x1f
#define PTW 0x12

/* 5 bits, then 7 in each byte: more would not fit in 64 bits. */
#define CYC_LEN_MAX 10

/* Indexed by the second byte. */
static const struct {
	uint8_t len;
	enum pt_packet_type type;
} extended[256] = {
	[CBR] = { 4, PT_PACKET_CBR },	       [CFE] = { 4, PT_PACKET_CFE },
	[PWRE] = { 4, PT_PACKET_OTHER },       [PSBEND] = { 2, PT_PACKET_PSBEND },
	[BEP] = { 2, PT_PACKET_BEP },	       [PIP] = { 8, PT_PACKET_OTHER },
	[EVD] = { 11, PT_PACKET_OTHER },       [EXSTOP] = { 2, PT_PACKET_OTHER },
	[BBP] = { 3, PT_PACKET_BBP },	       [TMA] = { 7, PT_PACKET_TMA },
	[PSB] = { PT_PSB_LEN, PT_PACKET_PSB }, [TRACESTOP] = { 2, PT_PACKET_OTHER },
	[PWRX] = { 7, PT_PACKET_OTHER },       [LONG_TNT] = { 8, PT_PACKET_BRANCH },
	[BEP_IP] = { 2, PT_PACKET_BEP },       [MWAIT] = { 10, PT_PACKET_OTHER },
	[MNT] = { 11, PT_PACKET_OTHER },       [VMCS] = { 7, PT_PACKET_OTHER },
	[EXSTOP_IP] = { 2, PT_PACKET_OTHER },  [OVF] = { 2, PT_PACKET_OVF },
};

static bool pt_read_extended(const uint8_t *at, size_t left, struct pt_packet *packet)
{
	if (left < 2)
		return false;
	if ((at[1] & PTW_MASK) == PTW) {
		unsigned int size = at[1] >> 5 & 3;

		packet->len = size ? 10 : 6;
		return size <= 1 && packet->len <= left;
	}
	packet->type = extended[at[1]].type;
	packet->len = extended[at[1]].len;
	if (!packet->len || packet->len > left)
		return false;
	switch (at[1]) {
	case PSB:
		return !memcmp(at, PT_PSB_BYTES, PT_PSB_LEN);
	case MNT:
		return at[2] == MNT_THIRD;
	case CBR:
		packet->value = at[2];
		break;
	case CFE:
		packet->value = at[2] & CFE_TYPE;
		break;
	case TMA:
		packet->value = at[2] | at[3] << 8;
		packet->fast = at[5] | (at[6] & 1) << 8;
		break;
	case BBP:
		packet->value = at[2] & 0x80 ? 5 : 9;
		break;
	}
	return true;
}

static bool pt_read_cyc_packet(const uint8_t *at, size_t left, struct pt_packet *packet)
{
	bool more = at[0] & 4;

	packet->type = PT_PACKET_CYC;
	packet->value = at[0] >> 3;
	packet->len = 1;
	for (unsigned int shift = 5; more; shift += 7) {
		if (packet->len >= left || packet->len >= CYC_LEN_MAX)
			return false;
		more = at[packet->len] & 1;
		packet->value |= (uint64_t)(at[packet->len] >> 1) << shift;
		packet->len++;
	}
	return true;
}

/* The upper three bits are the compression of the address. */
static bool pt_read_ip_packet(const uint8_t *at, size_t left, struct pt_packet *packet)
{
	static const uint8_t ip_bytes[] = { 0, 2, 4, 6, 6, 0, 8, 0 };
	unsigned int compression = at[0] >> 5;

	if (compression == 5 || compression == 7)
		return false;
	packet->type = (at[0] & IP_MASK) == FUP ? PT_PACKET_OTHER : PT_PACKET_BRANCH;
	packet->len = 1 + ip_bytes[compression];
	return packet->len <= left;
}

static bool pt_read_plain(size_t len, size_t left, enum pt_packet_type type,
			  struct pt_packet *packet)
{
	packet->type = type;
	packet->len = len;
	return len <= left;
}

bool pt_packet_read(const uint8_t *at, size_t left, size_t bip_len, struct pt_packet *packet)
{
	*packet = (struct pt_packet){ .type = PT_PACKET_OTHER };
	if (!left)
		return false;
	if (bip_len && (at[0] & BIP_MASK) == BIP)
		return pt_read_plain(bip_len, left, PT_PACKET_OTHER, packet);
	if (at[0] == PAD)
		return pt_read_plain(1, left, PT_PACKET_PAD, packet);
	if (at[0] == EXTENDED)
		return pt_read_extended(at, left, packet);
	if (!(at[0] & 1))
		return pt_read_plain(1, left, PT_PACKET_BRANCH, packet);
	if ((at[0] & CYC_MASK) == CYC)
		return pt_read_cyc_packet(at, left, packet);
	switch (at[0] & IP_MASK) {
	case TIP_PGD:
	case TIP:
	case TIP_PGE:
	case FUP:
		return pt_read_ip_packet(at, left, packet);
	}
	switch (at[0]) {
	case MODE:
		return pt_read_plain(2, left, PT_PACKET_OTHER, packet);
	case TRIG:
		return pt_read_plain(left > 1 && at[1] & TRIG_ICNTV ? 5 : 3, left, PT_PACKET_OTHER,
				     packet);
	case MTC:
		packet->value = left > 1 ? at[1] : 0;
		return pt_read_plain(2, left, PT_PACKET_MTC, packet);
	case TSC:
		if (!pt_read_plain(8, left, PT_PACKET_TSC, packet))
			return false;
		memcpy(&packet->value, at, sizeof(packet->value));
		packet->value >>= 8;
		return true;
	}
	return false;
}

/* Packets between PSB and PSBEND have no fixed order. A packet that cannot occur there, such as the
 * next PSB, means that PSB+ was truncated; stopping there keeps the scan of a whole trace
 * linear. */
static uint64_t psb_plus_tsc(const uint8_t *trace, size_t len, size_t at)
{
	struct pt_packet packet;
	uint64_t tsc = 0;

	for (; pt_packet_read(trace + at, len - at, 0, &packet); at += packet.len) {
		switch (packet.type) {
		case PT_PACKET_TSC:
			tsc = packet.value;
			break;
		case PT_PACKET_PSBEND:
			return tsc;
		case PT_PACKET_BRANCH:
		case PT_PACKET_PSB:
		case PT_PACKET_OVF:
			return 0;
		default:
			break;
		}
	}
	return 0;
}

/* The packets before a PSB may end with bytes that look like its begin, such as CYC and TNT. No PSB
 * directly follows another one: it is the last place where the bytes fit. */
bool pt_psb_find(const uint8_t *trace, size_t len, size_t from, size_t *offset)
{
	const uint8_t *at, *end = trace + len;

	if (from >= len)
		return false;
	at = memmem(trace + from, len - from, PT_PSB_BYTES, PT_PSB_LEN);
	if (!at)
		return false;
	while (end - at >= PT_PSB_LEN + 2 && !memcmp(at + PT_PSB_LEN, PT_PSB_BYTES, 2))
		at += 2;
	*offset = (size_t)(at - trace);
	return true;
}

int pt_psb_find_timed(const uint8_t *trace, size_t len, size_t from, struct pt_psb *psb)
{
	if (!pt_psb_find(trace, len, from, &psb->offset))
		return 0;
	psb->tsc = psb_plus_tsc(trace, len, psb->offset + PT_PSB_LEN);
	return 1;
}

uint64_t pt_psb_first_tsc(const uint8_t *trace, size_t len, size_t from)
{
	struct pt_psb psb = {};

	while (!psb.tsc && pt_psb_find_timed(trace, len, from, &psb))
		from = psb.offset + PT_PSB_LEN;
	return psb.tsc;
}

size_t pt_psb_find_begin(const uint8_t *trace, size_t len, uint64_t since_tsc)
{
	struct pt_psb psb;
	size_t begin = len;
	bool old = true; /* the point at begin is older than since_tsc */

	for (size_t from = 0; pt_psb_find_timed(trace, len, from, &psb);
	     from = psb.offset + PT_PSB_LEN) {
		/* The difference of times of 56 bits. */
		bool is_old = psb.tsc && (int64_t)((since_tsc - psb.tsc) << 8) > 0;

		if (old || is_old)
			begin = psb.offset;
		old = is_old;
		if (psb.tsc && !old)
			break;
	}
	return begin;
}

/* value * n / d without overflow of value * n. */
static uint64_t multiply_divide(uint64_t value, uint64_t n, uint64_t d)
{
	return value / d * n + value % d * n / d;
}

uint64_t pt_walk_current_tsc(const struct pt_walk *walk)
{
	if (!walk->ratio)
		return walk->tsc;
	return walk->tsc +
	       multiply_divide(walk->cycles, walk->clock->max_nonturbo_ratio, walk->ratio);
}

static void pt_walk_set_tsc(struct pt_walk *walk, uint64_t tsc)
{
	walk->tsc = tsc;
	walk->cycles = 0;
	walk->synced = true;
	walk->told++;
}

/* Relates the CTC to the preceding TSC packet, as the base for MTC packets. */
static void pt_walk_tma_packet(struct pt_walk *walk, const struct pt_packet *packet)
{
	const struct pt_clock *clock = walk->clock;
	unsigned int shift = clock->mtc_shift;

	walk->ctc_bits = 0;
	if (!clock->tsc_ctc_n || !clock->tsc_ctc_d || shift >= 16)
		return;
	walk->ctc = packet->value;
	walk->ctc_tsc = walk->tsc - packet->fast -
			multiply_divide(packet->value, clock->tsc_ctc_n, clock->tsc_ctc_d);
	walk->ctc_bits = shift > 8 ? 16 - shift : 8;
}

static void pt_walk_mtc_packet(struct pt_walk *walk, const struct pt_packet *packet)
{
	const struct pt_clock *clock = walk->clock;
	uint64_t ticks;

	if (!walk->ctc_bits)
		return;
	ticks = (packet->value - (walk->ctc >> clock->mtc_shift)) & ((1U << walk->ctc_bits) - 1);
	walk->ctc = ((walk->ctc >> clock->mtc_shift) + ticks) << clock->mtc_shift;
	/* With a large shift, TMA has fewer of these bits than MTC. */
	if (walk->ctc_bits < 8) {
		walk->ctc_bits = 8;
		walk->ctc_tsc += multiply_divide(walk->ctc, clock->tsc_ctc_n, clock->tsc_ctc_d);
		walk->ctc = packet->value << clock->mtc_shift;
		walk->ctc_tsc -= multiply_divide(walk->ctc, clock->tsc_ctc_n, clock->tsc_ctc_d);
	}
	pt_walk_set_tsc(walk, walk->ctc_tsc + multiply_divide(walk->ctc, clock->tsc_ctc_n,
							      clock->tsc_ctc_d));
}

void pt_walk_packet(struct pt_walk *walk, const struct pt_packet *packet)
{
	switch (packet->type) {
	case PT_PACKET_TSC:
		pt_walk_set_tsc(walk, packet->value);
		walk->ctc_bits = 0;
		break;
	case PT_PACKET_CYC:
		walk->cycles += packet->value;
		break;
	case PT_PACKET_MTC:
		pt_walk_mtc_packet(walk, packet);
		break;
	case PT_PACKET_TMA:
		pt_walk_tma_packet(walk, packet);
		break;
	case PT_PACKET_CBR:
		walk->tsc = pt_walk_current_tsc(walk);
		walk->cycles = 0;
		walk->ratio = packet->value;
		break;
	case PT_PACKET_PSB:
	case PT_PACKET_BEP:
		walk->bip_len = 0;
		break;
	case PT_PACKET_BBP:
		walk->bip_len = packet->value;
		break;
	case PT_PACKET_OVF:
		walk->ctc_bits = 0;
		walk->bip_len = 0;
		break;
	case PT_PACKET_PAD:
	case PT_PACKET_PSBEND:
	case PT_PACKET_BRANCH:
	case PT_PACKET_CFE:
	case PT_PACKET_OTHER:
		break;
	}
}
