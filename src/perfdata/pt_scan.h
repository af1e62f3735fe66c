/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Scans Intel PT for the age of its parts. */
#ifndef PERFDATA_PT_SCAN_H
#define PERFDATA_PT_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A PSB, where decoding can start. */
struct pt_psb {
	size_t offset;
	uint64_t tsc; /* 56 bits, from PSB+; 0: none, or PSB+ is truncated */
};

/* Finds the bytes of the next PSB at or after `from`. False: there is none. */
bool pt_scan_find(const uint8_t *trace, size_t len, size_t from, size_t *offset);

/* The same with its time. Returns 1, or 0 if there is none. */
int pt_scan_psb(const uint8_t *trace, size_t len, size_t from, struct pt_psb *psb);

/* The TSC of the first PSB+ with a TSC at or after `from`, or 0. */
uint64_t pt_scan_tsc(const uint8_t *trace, size_t len, size_t from);

/* Finds the PSB at which a ring's trace should begin. Skips trace from before `since_tsc`, by the
 * TSCs of PSBs. If all PSBs are older, returns the last one, so that something can be decoded.
 * Returns len without a PSB. */
size_t pt_scan_begin(const uint8_t *trace, size_t len, uint64_t since_tsc);

#endif
