/* SPDX-License-Identifier: GPL-2.0-only */
/* The state of the CPU that a trace begins with: a PSB packet and those up to PSBEND. */
#ifndef DECODE_PSB_H
#define DECODE_PSB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct psb {
	size_t size;	    /* with PSBEND; 0: it has no end */
	unsigned int modes; /* MODE.Exec packets in it */
	bool no_mode;	    /* there is none, nor before the code that follows */
	bool on;	    /* code is traced there */
};

/* Of a trace that begins with one. */
struct psb psb_read(const uint8_t *begin, const uint8_t *end);

#define PSB_STATE_SIZE 29

/* That the CPU is at an address. mode: bits of MODE.Exec. */
void psb_write(uint8_t at[PSB_STATE_SIZE], uint64_t ip, uint8_t mode);

#define PSB_64_BITS 0x01 /* CS.L */
#define PSB_32_BITS 0x02 /* CS.D */

#endif
