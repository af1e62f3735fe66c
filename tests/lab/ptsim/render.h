/* SPDX-License-Identifier: GPL-2.0-only */
/* From the steps of a program to packets */
#ifndef PTSIM_RENDER_H
#define PTSIM_RENDER_H

#include "packets.h"
#include "program.h"
#include "psb.h"
#include "ptsim.h"

u64 ptsim_ctc(u64 tsc);
u64 ptsim_next_mtc(const struct ptsim_config *config, u64 tsc);
void ptsim_render_time(struct ptsim_packets *p, const struct ptsim_config *config, u64 tsc);
/* With an IP if branches are being traced, else 0. The CPU counted `cycles` since the last CYC. */
void ptsim_render_psb(struct ptsim_packets *p, const struct ptsim_config *config, u64 tsc,
		      u64 cycles, u64 ip);

/* Whether branches are traced there, by the address filter */
bool ptsim_is_inside(const struct ptsim_config *config, u64 ip);

/*
 * One iteration, begun at `tsc`, with the MTC packets that fall into it; *next_mtc is when the next
 * one is due, before and after. NULL: no MTC packets. The first address is written in full, and no
 * branch is left for later, so that an iteration can follow anything. Returns what it traces.
 *
 * Whether code is inside of the ranges of the address filter is decided where branches go: ranges
 * are those of whole functions, which are entered and left by branches only.
 */
struct ptsim_traced ptsim_render_iteration(struct ptsim_packets *p,
					   const struct ptsim_program *program,
					   const struct ptsim_config *config, u64 tsc,
					   u64 *next_mtc);

/* Room for the largest: a long address for each step, a CYC and an MTC */
#define PTSIM_ITERATION_MAX 16384

#endif
