/* SPDX-License-Identifier: GPL-2.0-only */
/* PSB+: a PSB, the state of the CPU, and a PSBEND, to the byte what Skylake and Cascade Lake write
 */
#ifndef PTSIM_PSB_H
#define PTSIM_PSB_H

#include "packets.h"

struct ptsim_psb {
	bool tsc_on, tma_on, pip_on;
	u64 tsc, cr3;
	u16 ctc, fast_counter;
	u8 ratio;
	/* Cycles since the last CYC packet: up to the state of execution, and from there to TSC.
	 * They belong to the time before TSC. */
	u64 cycles[2];
	u64 ip; /* where branches are traced, else 0 */
};

/* With the PAD packets before and within it, and with start() of a source behind it */
#define PTSIM_PSB_MAX 192

void ptsim_psb_plus(struct ptsim_packets *p, const struct ptsim_psb *psb);

#endif
