/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A look into Intel PT packets: only as far as needed to know how old a piece of trace is. */
#ifndef PERFDATA_PT_SCAN_H
#define PERFDATA_PT_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pt_packet.h"

/* A synchronisation point: where a decoder can begin. */
struct pt_psb {
	size_t offset;
	uint64_t tsc; /* 56 bits, as in its PSB+; 0: that has none, or was cut off */
};

/* The next synchronisation point at or after `from`. 1 and the point, or 0: there is none. */
int pt_scan_psb(const uint8_t *trace, size_t len, size_t from, struct pt_psb *psb);

/* The time of the first synchronisation point at or after `from` that has one, or 0. */
uint64_t pt_scan_tsc(const uint8_t *trace, size_t len, size_t from);

/* How much of the beginning of a ring's trace to leave out, so that it begins at a synchronisation
 * point. What was in the ring before `since_tsc`, when this trace began, is left out as far as the
 * times of points show it. Where all points are older, the trace begins at the last one: nothing
 * could be decoded otherwise. len: there is no point. */
size_t pt_scan_begin(const uint8_t *trace, size_t len, uint64_t since_tsc);

/* Where a trace is cut in two by a moment. */
struct pt_cut {
	size_t offset; /* of the first byte that may have been written after it */
	bool exact;    /* all behind it but PAD packets was; else some of it may be older */
};

/* Cuts a trace at `tsc` (its lower 56 bits count). Time is that of TSC packets, with MTC and CYC
 * packets between them; where these are not, the cut is at the last time told, so that what is
 * behind is an upper bound. A trace that begins later is all behind. False: it tells no time. */
bool pt_scan_cut(const uint8_t *trace, size_t len, uint64_t tsc, const struct pt_clock *clock,
		 struct pt_cut *cut);

#endif
