// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "pt_walk.h"

/* value * n / d without overflow of value * n. */
static uint64_t scale(uint64_t value, uint64_t n, uint64_t d)
{
	return value / d * n + value % d * n / d;
}

uint64_t pt_walk_now(const struct pt_walk *walk)
{
	if (!walk->ratio)
		return walk->tsc;
	return walk->tsc + scale(walk->cycles, walk->clock->max_nonturbo_ratio, walk->ratio);
}

static void walk_set(struct pt_walk *walk, uint64_t tsc)
{
	walk->tsc = tsc;
	walk->cycles = 0;
	walk->synced = true;
	walk->told++;
}

/* Relates the CTC to the preceding TSC packet, as the base for MTC packets. */
static void walk_tma(struct pt_walk *walk, const struct pt_packet *packet)
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

static void walk_mtc(struct pt_walk *walk, const struct pt_packet *packet)
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
		walk->ctc_tsc += scale(walk->ctc, clock->tsc_ctc_n, clock->tsc_ctc_d);
		walk->ctc = packet->value << clock->mtc_shift;
		walk->ctc_tsc -= scale(walk->ctc, clock->tsc_ctc_n, clock->tsc_ctc_d);
	}
	walk_set(walk, walk->ctc_tsc + scale(walk->ctc, clock->tsc_ctc_n, clock->tsc_ctc_d));
}

static void walk_cbr(struct pt_walk *walk, const struct pt_packet *packet)
{
	walk->tsc = pt_walk_now(walk);
	walk->cycles = 0;
	walk->ratio = packet->value;
}

void pt_walk_packet(struct pt_walk *walk, const struct pt_packet *packet)
{
	switch (packet->type) {
	case PT_PACKET_TSC:
		walk_set(walk, packet->value);
		walk->ctc_bits = 0;
		break;
	case PT_PACKET_CYC:
		walk->cycles += packet->value;
		break;
	case PT_PACKET_MTC:
		walk_mtc(walk, packet);
		break;
	case PT_PACKET_TMA:
		walk_tma(walk, packet);
		break;
	case PT_PACKET_CBR:
		walk_cbr(walk, packet);
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
