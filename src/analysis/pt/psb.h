/* SPDX-License-Identifier: GPL-2.0-only */
/* The CPU's state at the begin of a trace: PSB+, the packets from PSB to PSBEND. */
#ifndef DECODE_PSB_H
#define DECODE_PSB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct psb {
	size_t size;	    /* including PSBEND; 0: no PSBEND */
	unsigned int modes; /* number of MODE.Exec packets */
	bool no_mode;	    /* no mode, neither here nor before the next code */
	bool on;	    /* tracing is on */
	bool guest;	    /* a virtual machine runs */
};

/* Reads the PSB+ at the begin of a trace. */
struct psb psb_read(const uint8_t *begin, const uint8_t *end);

#define PSB_STATE_SIZE 29

/* Writes a PSB+ with an address. mode: bits of MODE.Exec. */
void psb_write(uint8_t at[PSB_STATE_SIZE], uint64_t ip, uint8_t mode);

#define PSB_64_BITS 0x01 /* CS.L */
#define PSB_32_BITS 0x02 /* CS.D */

#endif
