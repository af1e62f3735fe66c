/* SPDX-License-Identifier: GPL-2.0-only */
/* When code was executed, and how many core cycles it took, by the packets that the decoder has
 * read. libipt's own times lose up to a tick with each CYC packet; here CYC packets tell what part
 * of the time between two MTC or TSC packets has passed, as perf has it. */
#ifndef DECODE_PACE_H
#define DECODE_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "item.h"
#include "util.h"

struct pace;
struct sideband_pt;
struct trace_segment;

/* Of one segment, which must stay; `on`: code was traced when it began. Returns 0 or -ENOMEM. */
int pace_new(struct pace **ret, const struct sideband_pt *pt, const struct trace_segment *segment,
	     bool on) _must_check_;
void pace_free(struct pace *pace);

/* The decoder stands at an offset of the segment now: it has used a packet, and read ahead up to
 * the next one that says where code went. Returns whether that packet is of a branch; if not, it is
 * of an event, or there is none. */
bool pace_move(struct pace *pace, uint64_t offset);

/* The packet there, if it is of a branch or an overflow, belongs to the last move. */
void pace_pass(struct pace *pace);

/* Of packets. */
enum pace_kind {
	PACE_BRANCH,
	PACE_ENABLE,
	PACE_DISABLE,
	PACE_OVERFLOW,
	PACE_NR_KINDS,
};

/* The TSC now. 0: not known. */
uint64_t pace_now(const struct pace *pace);

/* The TSC when the last move began, and at the last packet of a kind that was passed: one move may
 * go over a packet that ends tracing and the next one that begins it. 0: not known. */
uint64_t pace_first(const struct pace *pace);
uint64_t pace_last(const struct pace *pace, enum pace_kind kind);

/* Behind an overflow: the TSC at the FUP that tells where the trace goes on, which is passed. */
uint64_t pace_resume(struct pace *pace);

/* Of the packet there, as libipt and this project have no names in common; 0: unknown, or cut. */
size_t pace_packet_size(const uint8_t *at, const uint8_t *end);

/* Where the CPU went when tracing was disabled last. */
enum untraced pace_untraced(const struct pace *pace);

/* Cycles up to where the last move began, or all up to where it enabled tracing; which were not
 * taken yet. */
uint32_t pace_take(struct pace *pace);
uint32_t pace_rest(struct pace *pace);

#endif
