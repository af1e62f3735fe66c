// SPDX-License-Identifier: GPL-2.0-only
#include "pt/pace.h"

#include "pt/sideband.h"
#include "pt/trace.h"
#include "pt/trace_clock.h"
#include "pt_packets.h"

/* Low bits of the first byte of TIP.PGE, TIP.PGD and FUP. */
#define TIP_MASK 0x1f
#define TIP_PGD 0x01
#define TIP_PGE 0x11
#define FUP 0x1d

struct pace {
	struct pt_clock clock;
	struct pt_walk walk;
	const uint8_t *begin, *at, *end, *limit;
	uint64_t near;		    /* full TSC near that time */
	uint64_t told;		    /* TSC of the last packet with time */
	uint64_t cycles;	    /* since the last packet with time */
	uint64_t span, span_cycles; /* from that packet to the next packet with time; 0: unknown */
	uint64_t first, last[PACE_NR_KINDS];
	/* Cycles: before the last move, in it, and in it since tracing was enabled. */
	uint64_t before, passed, enabled;
	bool on;	  /* code is traced; cycles of other code are not counted */
	bool is_enabled;  /* tracing was enabled in the last move */
	bool lost;	  /* after an overflow, until the next FUP */
	uint64_t resumed; /* TSC at that FUP */
	uint64_t event;	  /* enum pt_cfe: the last event since the last branch; 0: none */
	enum untraced untraced;
};

int pace_new(struct pace **ret, const struct sideband_pt *pt, const struct trace_segment *segment,
	     bool on)
{
	struct pace *pace = calloc(1, sizeof(*pace));

	if (!pace)
		return -ENOMEM;
	pace->clock = (struct pt_clock){
		.max_nonturbo_ratio = pt->max_nonturbo_ratio,
		.tsc_ctc_n = pt->tsc_ctc_n,
		.tsc_ctc_d = pt->tsc_ctc_d,
		.mtc_shift = pt->mtc_period,
	};
	pace->walk.clock = &pace->clock;
	pace->begin = pace->at = segment->begin;
	pace->end = segment->end;
	pace->limit = segment->limit;
	pace->near = segment->tsc;
	pace->on = on;
	*ret = pace;
	return 0;
}

void pace_free(struct pace *pace)
{
	free(pace);
}

static bool next_packet(const uint8_t *at, const uint8_t *limit, const struct pt_walk *walk,
			struct pt_packet *packet)
{
	return pt_packet_read(at, (size_t)(limit - at), walk->bip_len, packet);
}

/* A sleeping CPU counts no cycles: by the ratio of the clocks, these took less time. */
static bool has_slept(const struct pt_walk *walk, uint64_t span, uint64_t needed)
{
	return walk->ratio && span - span / 5 > needed;
}

/* Looks ahead to the next packet with time. Lost packets before it mean lost cycles. */
static void look_ahead(struct pace *pace)
{
	struct pt_walk walk = pace->walk;
	const uint8_t *at = pace->at;
	struct pt_packet packet;
	uint64_t cycles = 0, now = walk.tsc;

	pace->span_cycles = 0;
	/* Without MTC packets, times are rare, and the CPU may sleep in between. */
	if (!pace->clock.tsc_ctc_n)
		return;
	while (walk.told == pace->walk.told) {
		if (!next_packet(at, pace->limit, &walk, &packet) || packet.type == PT_PACKET_OVF)
			return;
		now = pt_walk_now(&walk);
		pt_walk_packet(&walk, &packet);
		if (packet.type == PT_PACKET_CYC)
			cycles += packet.value;
		at += packet.len;
	}
	pace->span = walk.tsc - pace->told;
	/* Going back, or a day ahead, is implausible between two packets of a running CPU. */
	if (!(pace->span >> 48) && !has_slept(&walk, pace->span, now - pace->told))
		pace->span_cycles = cycles;
}

uint64_t pace_now(const struct pace *pace)
{
	uint64_t tsc = pt_walk_now(&pace->walk);

	if (!pace->walk.synced)
		return 0;
	if (pace->span_cycles)
		tsc = pace->told + (uint64_t)((double)pace->cycles * (double)pace->span /
					      (double)pace->span_cycles);
	return pace->near ? trace_clock_extend(tsc, pace->near) : tsc;
}

static enum pace_kind kind_of(const uint8_t *at, const struct pt_packet *packet)
{
	if (packet->type == PT_PACKET_OVF)
		return PACE_OVERFLOW;
	switch (*at & TIP_MASK) {
	case TIP_PGE:
		return PACE_ENABLE;
	case TIP_PGD:
		return PACE_DISABLE;
	}
	return PACE_BRANCH;
}

/* No other packet begins with these bytes. */
static void switch_on(struct pace *pace)
{
	switch (*pace->at & TIP_MASK) {
	case TIP_PGE:
		pace->is_enabled = pace->on = true;
		break;
	case FUP:
		pace->on = true;
		break;
	case TIP_PGD:
		pace->on = false;
		break;
	}
}

static void pass_overflow(struct pace *pace, const struct pt_packet *packet)
{
	if (packet->type == PT_PACKET_OVF) {
		pace->lost = true;
	} else if (pace->lost && (*pace->at & TIP_MASK) == FUP) {
		pace->lost = false;
		pace->resumed = pace_now(pace);
	}
}

/* Event Trace reports an event before the branch that it causes. */
static void pass_event(struct pace *pace, const struct pt_packet *packet)
{
	static const uint8_t places[] = {
		[PT_CFE_SMI] = UNTRACED_SMI,
		[PT_CFE_VMENTRY] = UNTRACED_GUEST,
		[PT_CFE_VMEXIT] = UNTRACED_HYPERVISOR,
		[PT_CFE_VMEXIT_INTR] = UNTRACED_HYPERVISOR,
	};

	if (packet->type == PT_PACKET_CFE)
		pace->event = packet->value;
	if (packet->type != PT_PACKET_BRANCH)
		return;
	if (kind_of(pace->at, packet) == PACE_DISABLE)
		pace->untraced =
			pace->event < ARRAY_SIZE(places) ? places[pace->event] : UNTRACED_CODE;
	pace->event = 0;
}

static void pass(struct pace *pace, const struct pt_packet *packet)
{
	unsigned int told = pace->walk.told;

	if (packet->type == PT_PACKET_BRANCH || packet->type == PT_PACKET_OVF)
		pace->last[kind_of(pace->at, packet)] = pace_now(pace);
	pass_overflow(pace, packet);
	pass_event(pace, packet);
	switch_on(pace);
	pt_walk_packet(&pace->walk, packet);
	pace->at += packet->len;
	if (packet->type == PT_PACKET_CYC) {
		pace->cycles += packet->value;
		if (pace->on)
			*(pace->is_enabled ? &pace->enabled : &pace->passed) += packet->value;
	}
	if (pace->walk.told != told) {
		pace->told = pace->walk.tsc;
		pace->cycles = 0;
		look_ahead(pace);
	}
}

/* The decoder may read the PSB+ of the next segment, which counts it itself. */
bool pace_move(struct pace *pace, uint64_t offset)
{
	const uint8_t *to =
		offset < (uint64_t)(pace->end - pace->begin) ? pace->begin + offset : pace->end;
	struct pt_packet packet;
	bool branched;

	if (pace->at >= to || !next_packet(pace->at, pace->limit, &pace->walk, &packet))
		return false;
	branched = packet.type == PT_PACKET_BRANCH && kind_of(pace->at, &packet) == PACE_BRANCH;
	pace->before += pace->passed + pace->enabled;
	pace->passed = pace->enabled = 0;
	pace->is_enabled = false;
	pace->first = pace_now(pace);
	while (pace->at < to && next_packet(pace->at, pace->limit, &pace->walk, &packet))
		pass(pace, &packet);
	return branched;
}

void pace_pass(struct pace *pace)
{
	struct pt_packet packet;

	if (pace->at < pace->end && next_packet(pace->at, pace->limit, &pace->walk, &packet) &&
	    (packet.type == PT_PACKET_BRANCH || packet.type == PT_PACKET_OVF))
		pass(pace, &packet);
}

uint64_t pace_resume(struct pace *pace)
{
	struct pt_packet packet;

	while (pace->lost && pace->at < pace->end &&
	       next_packet(pace->at, pace->limit, &pace->walk, &packet))
		pass(pace, &packet);
	return pace->resumed;
}

size_t pace_packet_size(const uint8_t *at, const uint8_t *end)
{
	struct pt_packet packet;

	return pt_packet_read(at, (size_t)(end - at), 0, &packet) ? packet.len : 0;
}

enum untraced pace_untraced(const struct pace *pace)
{
	return pace->untraced;
}

uint64_t pace_first(const struct pace *pace)
{
	return pace->first;
}

uint64_t pace_last(const struct pace *pace, enum pace_kind kind)
{
	return pace->last[kind];
}

static uint32_t clamp(uint64_t cycles)
{
	return cycles < UINT32_MAX ? (uint32_t)cycles : UINT32_MAX;
}

uint32_t pace_take(struct pace *pace)
{
	uint64_t taken = pace->before;

	pace->before = 0;
	return clamp(taken);
}

uint32_t pace_rest(struct pace *pace)
{
	uint64_t taken = pace->before + pace->passed;

	pace->before = pace->enabled;
	pace->passed = pace->enabled = 0;
	pace->is_enabled = false;
	return clamp(taken);
}
