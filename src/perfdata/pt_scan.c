// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "pt_scan.h"

#include <string.h>

#include "pt_packet.h"

static bool is_after(uint64_t tsc, uint64_t moment)
{
	return (int64_t)((tsc - moment) << 8) > 0;
}

/* The packets between PSB and PSBEND come in an order that the CPU chooses. A packet that cannot be
 * one of them shows that PSB+ was cut off; the next PSB is such a packet, so that all the points of
 * a trace are read in linear time. */
static uint64_t psb_tsc(const uint8_t *trace, size_t len, size_t at)
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

int pt_scan_psb(const uint8_t *trace, size_t len, size_t from, struct pt_psb *psb)
{
	const uint8_t *at;

	if (from >= len)
		return 0;
	at = memmem(trace + from, len - from, PT_PSB_BYTES, PT_PSB_LEN);
	if (!at)
		return 0;
	psb->offset = at - trace;
	psb->tsc = psb_tsc(trace, len, psb->offset + PT_PSB_LEN);
	return 1;
}

uint64_t pt_scan_tsc(const uint8_t *trace, size_t len, size_t from)
{
	struct pt_psb psb = {};

	while (!psb.tsc && pt_scan_psb(trace, len, from, &psb))
		from = psb.offset + PT_PSB_LEN;
	return psb.tsc;
}

size_t pt_scan_begin(const uint8_t *trace, size_t len, uint64_t since_tsc)
{
	struct pt_psb psb;
	size_t begin = len;
	bool old = true; /* begin is at a point that is */

	for (size_t from = 0; pt_scan_psb(trace, len, from, &psb); from = psb.offset + PT_PSB_LEN) {
		bool is_old = psb.tsc && is_after(since_tsc, psb.tsc);

		if (old || is_old)
			begin = psb.offset;
		old = is_old;
		if (psb.tsc && !old)
			break;
	}
	return begin;
}

/* As far as a trace is read. Times are of 56 bits, in whatever is above them there is nothing. */
struct walk {
	const struct pt_clock *clock;
	uint64_t tsc;	  /* the last time told, but by CYC packets */
	uint64_t cycles;  /* of the core since; CYC packets tell them */
	uint64_t ratio;	  /* of the core's clock to the bus's; 0: not known */
	uint64_t ctc_tsc; /* when the CTC was 0, had it no end */
	uint64_t ctc;
	unsigned int ctc_bits; /* of MTC packets: so many of the CTC are known; 0: none */
	size_t bip_len;
	bool synced; /* tsc is the time */
	bool timed;  /* what comes next is of this time still */
};

/* value * n / d, where value * n may not fit. */
static uint64_t scale(uint64_t value, uint64_t n, uint64_t d)
{
	return value / d * n + value % d * n / d;
}

static uint64_t walk_now(const struct walk *walk)
{
	if (!walk->ratio)
		return walk->tsc;
	return walk->tsc + scale(walk->cycles, walk->clock->max_nonturbo_ratio, walk->ratio);
}

static void walk_set(struct walk *walk, uint64_t tsc)
{
	walk->tsc = tsc;
	walk->cycles = 0;
	walk->synced = true;
}

/* The CTC, when the TSC was what the packet before told; from there MTC packets count. */
static void walk_tma(struct walk *walk, const struct pt_packet *packet)
{
	const struct pt_clock *clock = walk->clock;
	unsigned int shift = clock->mtc_shift;

	walk->ctc_bits = 0;
	if (!clock->tsc_ctc_n || !clock->tsc_ctc_d || shift >= 16)
		return;
	walk->ctc = packet->value;
	walk->ctc_tsc =
		walk->tsc - packet->fast - scale(packet->value, clock->tsc_ctc_n, clock->tsc_ctc_d);
	walk->ctc_bits = shift > 8 ? 16 - shift : 8;
}

static bool walk_mtc(struct walk *walk, const struct pt_packet *packet)
{
	const struct pt_clock *clock = walk->clock;
	uint64_t ticks;

	if (!walk->ctc_bits)
		return false;
	ticks = (packet->value - (walk->ctc >> clock->mtc_shift)) & ((1U << walk->ctc_bits) - 1);
	walk->ctc = ((walk->ctc >> clock->mtc_shift) + ticks) << clock->mtc_shift;
	/* A TMA packet has fewer of the bits than MTC packets when the shift is large. */
	if (walk->ctc_bits < 8) {
		walk->ctc_bits = 8;
		walk->ctc_tsc += scale(walk->ctc, clock->tsc_ctc_n, clock->tsc_ctc_d);
		walk->ctc = packet->value << clock->mtc_shift;
		walk->ctc_tsc -= scale(walk->ctc, clock->tsc_ctc_n, clock->tsc_ctc_d);
	}
	walk_set(walk, walk->ctc_tsc + scale(walk->ctc, clock->tsc_ctc_n, clock->tsc_ctc_d));
	return true;
}

static bool walk_cyc(struct walk *walk, const struct pt_packet *packet)
{
	walk->cycles += packet->value;
	return walk->synced && walk->ratio && walk->clock->max_nonturbo_ratio;
}

static void walk_cbr(struct walk *walk, const struct pt_packet *packet)
{
	walk->tsc = walk_now(walk);
	walk->cycles = 0;
	walk->ratio = packet->value;
}

/* What cannot be read, or was lost, took time. */
static void walk_lose(struct walk *walk)
{
	walk->timed = false;
	walk->ctc_bits = 0;
	walk->bip_len = 0;
}

/* Whether the packet is of a known time, which is that of the walk then. Of one cycle the CPU makes
 * several packets, and a CYC packet before them; but two branches may be more than one cycle. */
static bool walk_packet(struct walk *walk, const struct pt_packet *packet)
{
	bool timed = walk->timed;

	switch (packet->type) {
	case PT_PACKET_TSC:
		walk_set(walk, packet->value);
		walk->ctc_bits = 0;
		return walk->timed = true;
	case PT_PACKET_CYC:
		return walk->timed = walk_cyc(walk, packet);
	case PT_PACKET_MTC:
		walk->timed = false;
		return walk_mtc(walk, packet);
	case PT_PACKET_TMA:
		walk_tma(walk, packet);
		return timed;
	case PT_PACKET_CBR:
		walk_cbr(walk, packet);
		return timed;
	case PT_PACKET_BRANCH:
		walk->timed = false;
		return timed;
	case PT_PACKET_PSB:
		walk->bip_len = 0;
		return walk->timed = false;
	case PT_PACKET_BEP:
		walk->bip_len = 0;
		return timed;
	case PT_PACKET_BBP:
		walk->bip_len = packet->value;
		return timed;
	case PT_PACKET_OVF:
		walk_lose(walk);
		return false;
	case PT_PACKET_PAD:
	case PT_PACKET_PSBEND:
	case PT_PACKET_OTHER:
		break;
	}
	return timed;
}

/* All of PSB+ is of the time that it tells. */
static bool is_later_psb(const uint8_t *trace, size_t len, size_t at,
			 const struct pt_packet *packet, uint64_t moment)
{
	uint64_t tsc;

	if (packet->type != PT_PACKET_PSB)
		return false;
	tsc = psb_tsc(trace, len, at + packet->len);
	return tsc && is_after(tsc, moment);
}

static void cut_from(const uint8_t *trace, size_t len, size_t at, uint64_t moment,
		     const struct pt_clock *clock, struct pt_cut *cut)
{
	struct walk walk = { .clock = clock };
	size_t padded = at; /* the cut, and PAD packets behind it */

	cut->offset = at;
	while (at < len) {
		struct pt_packet packet;
		struct pt_psb psb;
		bool timed;

		if (!pt_packet_read(trace + at, len - at, walk.bip_len, &packet)) {
			walk_lose(&walk);
			if (!pt_scan_psb(trace, len, at + 1, &psb))
				break;
			at = psb.offset;
			continue;
		}
		timed = walk_packet(&walk, &packet);
		if (is_later_psb(trace, len, at, &packet, moment) ||
		    (timed && is_after(walk_now(&walk), moment))) {
			cut->exact = padded == at;
			return;
		}
		at += packet.len;
		if (timed)
			cut->offset = padded = at;
		else if (packet.type == PT_PACKET_PAD && padded == at - packet.len)
			padded = at;
	}
	cut->exact = padded == len;
}

bool pt_scan_cut(const uint8_t *trace, size_t len, uint64_t tsc, const struct pt_clock *clock,
		 struct pt_cut *cut)
{
	struct pt_psb psb = {};
	size_t last = len, from;

	*cut = (struct pt_cut){ .offset = len };
	for (from = 0; pt_scan_psb(trace, len, from, &psb); from = psb.offset + PT_PSB_LEN) {
		if (psb.tsc && is_after(psb.tsc, tsc))
			break;
		if (psb.tsc)
			last = psb.offset;
		psb.tsc = 0;
	}
	if (last < len)
		cut_from(trace, len, last, tsc, clock, cut);
	else if (psb.tsc)
		cut->offset = psb.offset;
	return last < len || psb.tsc;
}
