/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * PSB+: a PSB, the state of the CPU, and a PSBEND. The order in between is the CPU's own affair,
 * but for TMA, which follows TSC, and FUP, which follows MODE.Exec.
 */
#ifndef PTSIM_PSB_H
#define PTSIM_PSB_H

#include "packets.h"

enum ptsim_psb_order {
	PTSIM_PSB_BROADWELL, /* TSC right behind the PSB, no PAD packets */
	PTSIM_PSB_SKYLAKE,   /* to the byte what Skylake and Cascade Lake write */
	PTSIM_PSB_SHUFFLED,  /* another legal order, and other PAD packets, each time */
	PTSIM_PSB_ORDERS,
};

struct ptsim_psb {
	enum ptsim_psb_order order;
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
