// SPDX-License-Identifier: GPL-2.0-only
#include "pt/timing.h"

#include "code/sideband.h"
#include "pt/trace.h"
#include "pt_packets.h"

/* Low bits of the first byte of TIP.PGE, TIP.PGD and FUP. */
#define TIP_MASK 0x1f
#define TIP_PGD 0x01
#define TIP_PGE 0x11
#define FUP 0x1d

struct timing {
	struct pt_clock clock;
	struct pt_walk walk;
	const uint8_t *begin, *at, *end, *limit;
	uint64_t near;		    /* full TSC near that time */
	uint64_t told;		    /* TSC of the last packet with time */
	uint64_t cycles;	    /* since the last packet with time */
	uint64_t span, span_cycles; /* from that packet to the next packet with time; 0: unknown */
	uint64_t first, last[TIMING_NR_KINDS];
	/* Cycles: before the last move, in it, and in it since tracing was enabled. */
	uint64_t before, passed, enabled;
	bool on;	  /* code is traced; cycles of other code are not counted */
	bool is_enabled;  /* tracing was enabled in the last move */
	bool lost;	  /* after an overflow, until the next FUP */
	uint64_t resumed; /* TSC at that FUP */
	uint64_t event;	  /* enum pt_cfe: the last event since the last branch; 0: none */
	enum untraced untraced;
};

int timing_new(struct timing **ret, const struct sideband_pt *pt,
	       const struct trace_segment *segment, bool on)
{
	struct timing *timing = calloc(1, sizeof(*timing));

	if (!timing)
		return -ENOMEM;
	timing->clock = (struct pt_clock){
		.max_nonturbo_ratio = pt->max_nonturbo_ratio,
		.tsc_ctc_n = pt->tsc_ctc_n,
		.tsc_ctc_d = pt->tsc_ctc_d,
		.mtc_shift = pt->mtc_period,
	};
	timing->walk.clock = &timing->clock;
	timing->begin = timing->at = segment->begin;
	timing->end = segment->end;
	timing->limit = segment->limit;
	timing->near = segment->tsc;
	timing->on = on;
	*ret = timing;
	return 0;
}

void timing_free(struct timing *timing)
{
	free(timing);
}

static bool read_next_packet(const uint8_t *at, const uint8_t *limit, const struct pt_walk *walk,
			     struct pt_packet *packet)
{
	return pt_packet_read(at, (size_t)(limit - at), walk->bip_len, packet);
}

/* A sleeping CPU counts no cycles: by the ratio of the clocks, these took less time. */
static bool cpu_has_slept(const struct pt_walk *walk, uint64_t span, uint64_t needed)
{
	return walk->ratio && span - span / 5 > needed;
}

/* Looks ahead to the next packet with time. Lost packets before it mean lost cycles. */
static void look_ahead_to_time(struct timing *timing)
{
	struct pt_walk walk = timing->walk;
	const uint8_t *at = timing->at;
	struct pt_packet packet;
	uint64_t cycles = 0, now = walk.tsc;

	timing->span_cycles = 0;
	/* Without MTC packets, times are rare, and the CPU may sleep in between. */
	if (!timing->clock.tsc_ctc_n)
		return;
	while (walk.told == timing->walk.told) {
		if (!read_next_packet(at, timing->limit, &walk, &packet) ||
		    packet.type == PT_PACKET_OVF)
			return;
		now = pt_walk_current_tsc(&walk);
		pt_walk_packet(&walk, &packet);
		if (packet.type == PT_PACKET_CYC)
			cycles += packet.value;
		at += packet.len;
	}
	timing->span = walk.tsc - timing->told;
	/* Going back, or a day ahead, is implausible between two packets of a running CPU. */
	if (!(timing->span >> 48) && !cpu_has_slept(&walk, timing->span, now - timing->told))
		timing->span_cycles = cycles;
}

uint64_t timing_now_tsc(const struct timing *timing)
{
	uint64_t tsc = pt_walk_current_tsc(&timing->walk);

	if (!timing->walk.synced)
		return 0;
	if (timing->span_cycles)
		tsc = timing->told + (uint64_t)((double)timing->cycles * (double)timing->span /
						(double)timing->span_cycles);
	return timing->near ? trace_clock_extend(tsc, timing->near) : tsc;
}

static enum timing_kind packet_timing_kind(const uint8_t *at, const struct pt_packet *packet)
{
	if (packet->type == PT_PACKET_OVF)
		return TIMING_OVERFLOW;
	switch (*at & TIP_MASK) {
	case TIP_PGE:
		return TIMING_ENABLE;
	case TIP_PGD:
		return TIMING_DISABLE;
	}
	return TIMING_BRANCH;
}

/* No other packet begins with these bytes. */
static void note_tracing_state(struct timing *timing)
{
	switch (*timing->at & TIP_MASK) {
	case TIP_PGE:
		timing->is_enabled = timing->on = true;
		break;
	case FUP:
		timing->on = true;
		break;
	case TIP_PGD:
		timing->on = false;
		break;
	}
}

static void note_overflow_state(struct timing *timing, const struct pt_packet *packet)
{
	if (packet->type == PT_PACKET_OVF) {
		timing->lost = true;
	} else if (timing->lost && (*timing->at & TIP_MASK) == FUP) {
		timing->lost = false;
		timing->resumed = timing_now_tsc(timing);
	}
}

/* Event Trace reports an event before the branch that it causes. */
static void note_event_trace(struct timing *timing, const struct pt_packet *packet)
{
	static const uint8_t places[] = {
		[PT_CFE_SMI] = UNTRACED_SMI,
		[PT_CFE_VMENTRY] = UNTRACED_GUEST,
		[PT_CFE_VMEXIT] = UNTRACED_HYPERVISOR,
		[PT_CFE_VMEXIT_INTR] = UNTRACED_HYPERVISOR,
	};

	if (packet->type == PT_PACKET_CFE)
		timing->event = packet->value;
	if (packet->type != PT_PACKET_BRANCH)
		return;
	if (packet_timing_kind(timing->at, packet) == TIMING_DISABLE)
		timing->untraced =
			timing->event < ARRAY_SIZE(places) ? places[timing->event] : UNTRACED_CODE;
	timing->event = 0;
}

static void pass_one_packet(struct timing *timing, const struct pt_packet *packet)
{
	unsigned int told = timing->walk.told;

	if (packet->type == PT_PACKET_BRANCH || packet->type == PT_PACKET_OVF)
		timing->last[packet_timing_kind(timing->at, packet)] = timing_now_tsc(timing);
	note_overflow_state(timing, packet);
	note_event_trace(timing, packet);
	note_tracing_state(timing);
	pt_walk_packet(&timing->walk, packet);
	timing->at += packet->len;
	if (packet->type == PT_PACKET_CYC) {
		timing->cycles += packet->value;
		if (timing->on)
			*(timing->is_enabled ? &timing->enabled : &timing->passed) += packet->value;
	}
	if (timing->walk.told != told) {
		timing->told = timing->walk.tsc;
		timing->cycles = 0;
		look_ahead_to_time(timing);
	}
}

/* The decoder may read the PSB+ of the next segment, which counts it itself. */
bool timing_move(struct timing *timing, uint64_t offset)
{
	const uint8_t *to = offset < (uint64_t)(timing->end - timing->begin)
				    ? timing->begin + offset
				    : timing->end;
	struct pt_packet packet;
	bool branched;

	if (timing->at >= to ||
	    !read_next_packet(timing->at, timing->limit, &timing->walk, &packet))
		return false;
	branched = packet.type == PT_PACKET_BRANCH &&
		   packet_timing_kind(timing->at, &packet) == TIMING_BRANCH;
	timing->before += timing->passed + timing->enabled;
	timing->passed = timing->enabled = 0;
	timing->is_enabled = false;
	timing->first = timing_now_tsc(timing);
	while (timing->at < to &&
	       read_next_packet(timing->at, timing->limit, &timing->walk, &packet))
		pass_one_packet(timing, &packet);
	return branched;
}

void timing_pass_next(struct timing *timing)
{
	struct pt_packet packet;

	if (timing->at < timing->end &&
	    read_next_packet(timing->at, timing->limit, &timing->walk, &packet) &&
	    (packet.type == PT_PACKET_BRANCH || packet.type == PT_PACKET_OVF))
		pass_one_packet(timing, &packet);
}

uint64_t timing_resume_tsc(struct timing *timing)
{
	struct pt_packet packet;

	while (timing->lost && timing->at < timing->end &&
	       read_next_packet(timing->at, timing->limit, &timing->walk, &packet))
		pass_one_packet(timing, &packet);
	return timing->resumed;
}

size_t timing_packet_size(const uint8_t *at, const uint8_t *end)
{
	struct pt_packet packet;

	return pt_packet_read(at, (size_t)(end - at), 0, &packet) ? packet.len : 0;
}

enum untraced timing_untraced(const struct timing *timing)
{
	return timing->untraced;
}

uint64_t timing_first_tsc(const struct timing *timing)
{
	return timing->first;
}

uint64_t timing_last_tsc(const struct timing *timing, enum timing_kind kind)
{
	return timing->last[kind];
}

static uint32_t clamp_cycles(uint64_t cycles)
{
	return cycles < UINT32_MAX ? (uint32_t)cycles : UINT32_MAX;
}

uint32_t timing_take_cycles(struct timing *timing)
{
	uint64_t taken = timing->before;

	timing->before = 0;
	return clamp_cycles(taken);
}

uint32_t timing_rest_cycles(struct timing *timing)
{
	uint64_t taken = timing->before + timing->passed;

	timing->before = timing->enabled;
	timing->passed = timing->enabled = 0;
	timing->is_enabled = false;
	return clamp_cycles(taken);
}
