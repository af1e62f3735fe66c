/* SPDX-License-Identifier: GPL-2.0-only */
/* Times and core cycles of executed code, from the packets that the decoder has read. libipt's
 * times lose up to a tick at each CYC packet. Here, as in perf, CYC packets interpolate between MTC
 * or TSC packets. */
#ifndef DECODE_TIMING_H
#define DECODE_TIMING_H

#include "pt/item.h"
#include "util.h"

struct timing;
struct sideband_pt;
struct trace_segment;

/* For a segment, which must stay valid. `on`: its first code is traced. Returns 0 or -ENOMEM. */
int timing_new(struct timing **ret, const struct sideband_pt *pt,
	       const struct trace_segment *segment, bool on) _must_check_;
void timing_free(struct timing *timing);

/* Moves to the decoder's offset in the segment: the decoder has used a packet, and has read ahead
 * to the next packet about control flow. Returns whether that is a branch packet, as opposed to an
 * event or the end. */
bool timing_move(struct timing *timing, uint64_t offset);

/* Counts the packet at this position with the last move if it is a branch or an overflow. */
void timing_pass_next(struct timing *timing);

/* Kinds of packets. */
enum timing_kind {
	TIMING_BRANCH,
	TIMING_ENABLE,
	TIMING_DISABLE,
	TIMING_OVERFLOW,
	TIMING_NR_KINDS,
};

/* The current TSC. 0: unknown. */
uint64_t timing_now_tsc(const struct timing *timing);

/* The TSC at the begin of the last move, and at the last packet passed of a kind: one move may pass
 * both the packet that disables tracing and the one that enables it again. 0: unknown. */
uint64_t timing_first_tsc(const struct timing *timing);
uint64_t timing_last_tsc(const struct timing *timing, enum timing_kind kind);

/* After an overflow: passes the FUP with the address where the trace continues, and returns its
 * TSC. */
uint64_t timing_resume_tsc(struct timing *timing);

/* The size of a packet, for code that uses libipt's names of packets; 0: unknown or truncated. */
size_t timing_packet_size(const uint8_t *at, const uint8_t *end);

/* Where the CPU went when tracing was last disabled. */
enum untraced timing_untraced(const struct timing *timing);

/* Takes the cycles up to the begin of the last move, or up to where it enabled tracing. */
uint32_t timing_take_cycles(struct timing *timing);
uint32_t timing_rest_cycles(struct timing *timing);

#endif
