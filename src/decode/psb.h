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

#define PSB_MODE_SIZE 2

/* A copy, for free(), that says 64 bits in its first PSB; NULL if there is no memory. */
uint8_t *psb_with_mode(const struct psb *psb, const uint8_t *begin, const uint8_t *end);

#endif
