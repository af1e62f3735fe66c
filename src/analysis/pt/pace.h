/* SPDX-License-Identifier: GPL-2.0-only */
/* Times and core cycles of executed code, from the packets that the decoder has read. libipt's
 * times lose up to a tick at each CYC packet. Here, as in perf, CYC packets interpolate between MTC
 * or TSC packets. */
#ifndef DECODE_PACE_H
#define DECODE_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "pt/item.h"
#include "util.h"

struct pace;
struct sideband_pt;
struct trace_segment;

/* For a segment, which must stay valid. `on`: its first code is traced. Returns 0 or -ENOMEM. */
int pace_new(struct pace **ret, const struct sideband_pt *pt, const struct trace_segment *segment,
	     bool on) _must_check_;
void pace_free(struct pace *pace);

/* Moves to the decoder's offset in the segment: the decoder has used a packet, and has read ahead
 * to the next packet about control flow. Returns whether that is a branch packet, as opposed to an
 * event or the end. */
bool pace_move(struct pace *pace, uint64_t offset);

/* Counts the packet at this position with the last move if it is a branch or an overflow. */
void pace_pass(struct pace *pace);

/* Kinds of packets. */
enum pace_kind {
	PACE_BRANCH,
	PACE_ENABLE,
	PACE_DISABLE,
	PACE_OVERFLOW,
	PACE_NR_KINDS,
};

/* The current TSC. 0: unknown. */
uint64_t pace_now(const struct pace *pace);

/* The TSC at the begin of the last move, and at the last packet passed of a kind: one move may pass
 * both the packet that disables tracing and the one that enables it again. 0: unknown. */
uint64_t pace_first(const struct pace *pace);
uint64_t pace_last(const struct pace *pace, enum pace_kind kind);

/* After an overflow: passes the FUP with the address where the trace continues, and returns its
 * TSC. */
uint64_t pace_resume(struct pace *pace);

/* The size of a packet, for code that uses libipt's names of packets; 0: unknown or truncated. */
size_t pace_packet_size(const uint8_t *at, const uint8_t *end);

/* Where the CPU went when tracing was last disabled. */
enum untraced pace_untraced(const struct pace *pace);

/* Takes the cycles up to the begin of the last move, or up to where it enabled tracing. */
uint32_t pace_take(struct pace *pace);
uint32_t pace_rest(struct pace *pace);

#endif
