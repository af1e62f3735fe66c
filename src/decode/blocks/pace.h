/* SPDX-License-Identifier: GPL-2.0-only */
/* The times and core cycles of executed code, from the packets that the decoder has read. libipt's
 * times lose up to a tick at each CYC packet. Here CYC packets interpolate between two MTC or TSC
 * packets, as in perf. */
#ifndef DECODE_PACE_H
#define DECODE_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "blocks/item.h"
#include "util.h"

struct pace;
struct sideband_pt;
struct trace_segment;

/* For one segment, which must stay; `on`: code was traced at its begin. Returns 0 or -ENOMEM. */
int pace_new(struct pace **ret, const struct sideband_pt *pt, const struct trace_segment *segment,
	     bool on) _must_check_;
void pace_free(struct pace *pace);

/* Moves to the decoder's offset in the segment: it has used a packet, and has read ahead up to the
 * next one that tells where code went. Returns whether that is a branch packet, as opposed to an
 * event or the end. */
bool pace_move(struct pace *pace, uint64_t offset);

/* If the packet there is of a branch or an overflow, counts it with the last move. */
void pace_pass(struct pace *pace);

/* Of packets. */
enum pace_kind {
	PACE_BRANCH,
	PACE_ENABLE,
	PACE_DISABLE,
	PACE_OVERFLOW,
	PACE_NR_KINDS,
};

/* The current TSC. 0: unknown. */
uint64_t pace_now(const struct pace *pace);

/* The TSC at the beginning of the last move, and at the last packet of a kind that was passed: one
 * move may pass the packet that disables tracing and the next that enables it. 0: unknown. */
uint64_t pace_first(const struct pace *pace);
uint64_t pace_last(const struct pace *pace, enum pace_kind kind);

/* After an overflow: the TSC at the FUP that tells where the trace continues, which is passed. */
uint64_t pace_resume(struct pace *pace);

/* The kind of the packet there, for which libipt and this project share no names; 0: unknown, or
 * truncated. */
size_t pace_packet_size(const uint8_t *at, const uint8_t *end);

/* Where the CPU went when tracing was last disabled. */
enum untraced pace_untraced(const struct pace *pace);

/* Cycles not taken yet, up to the beginning of the last move, or up to where it enabled tracing. */
uint32_t pace_take(struct pace *pace);
uint32_t pace_rest(struct pace *pace);

#endif
