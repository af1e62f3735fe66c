/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs whose execution is traced. They are machine code (code.S) that no CPU ever runs:
 * program.c steps through one iteration of each, understanding the few instructions they are made
 * of, and notes what Intel PT would tell.
 */
#ifndef PTSIM_PROGRAM_H
#define PTSIM_PROGRAM_H

#include <linux/types.h>

enum ptsim_step_kind {
	PTSIM_CONDITIONAL, /* a TNT bit */
	PTSIM_RETURN,	   /* a TNT bit if returns are compressed, else a TIP */
	PTSIM_INDIRECT,	   /* a TIP: indirect jumps and calls, iret */
	PTSIM_INTERRUPT,   /* a FUP and a TIP */
	PTSIM_DIRECT,	   /* nothing: direct jumps and calls; they can cross the edge of a range */
};

struct ptsim_step {
	u64 from;
	u64 to;
	u32 cycle; /* since the iteration began, with this instruction */
	u8 kind;
	bool taken;
	bool call;
};

/* What of an iteration is traced: all of it, or what is inside of an address filter. */
struct ptsim_traced {
	u32 instructions;
	u32 branches; /* from inside to inside */
	u32 entered;
	u32 left;
};

/* Exactly what one iteration is. A branch is what `perf script --itrace=b` shows: a taken one, or
 * an interrupt. */
struct ptsim_counts {
	u32 instructions;
	u32 cycles;
	u32 branches;
	u32 calls;
	u32 returns;
	u32 jumps;	 /* unconditional */
	u32 conditional; /* taken or not */
	u32 taken;
	u32 indirect; /* calls and jumps of above that are */
	u32 interrupts;
	u32 irets;
	u32 depth; /* of nested calls and interrupts */
};

struct ptsim_program {
	const char *name;
	const void *entry;	  /* an iteration begins and ends here */
	const void *interrupt_at; /* once an iteration, before this instruction; NULL: never */
	const void *handler;
	struct ptsim_counts counts;
	struct ptsim_step *steps;
	unsigned int step_count;
};

extern struct ptsim_program ptsim_programs[];
extern const unsigned int ptsim_program_count;

int ptsim_programs_init(void);
void ptsim_programs_exit(void);

#endif
