/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How the module and the plugin of QEMU (../ptemu) talk: the module fills a block in the guest's
 * memory and executes an instruction that does nothing but for the plugin, which has done what it
 * was told when the next instruction begins. The plugin writes packets to the AUX area by itself,
 * as hardware does.
 */
#ifndef PTEMU_H
#define PTEMU_H

#include <linux/types.h>

/* nopl MAGIC(%rax), with the address of the block in rax */
#define PTEMU_MAGIC 0x50744d75
#define PTEMU_INSN ".byte 0x0f, 0x1f, 0x80\n\t.long 0x50744d75"
#define PTEMU_INSN_SIZE 7

#define PTEMU_VERSION 4
#define PTEMU_RANGES 2

enum ptemu_command {
	PTEMU_HELLO = 1, /* answer, and learn the guest's TSC */
	PTEMU_START,	 /* trace from the next instruction on */
	PTEMU_STOP,	 /* up to the last instruction */
	PTEMU_SYNC,	 /* tell how much is written; take the new limit */
	PTEMU_OVERFLOW,	 /* lose the packets of some instructions from now on */
};

struct ptemu_block {
	u64 command;
	/* Told by the module: */
	u64 tsc;		       /* of now */
	u64 pages, page_count, offset; /* an array of addresses; where in the area to begin */
	u64 limit;		       /* `written` may become so much; ~0: go round */
	u64 psb_due;
	u64 kernel, user;
	u64 tsc_on, mtc_on, cyc_on, noretcomp, long_tnt, pip, event;
	u64 mtc_period, cyc_min, psb_bytes;
	u64 n, d, ratio; /* of the TSC and the CTC; the core's frequency */
	u64 range_count, ranges[PTEMU_RANGES][2];
	u64 idt;     /* address */
	u64 logging; /* 1: write what is executed to a file, 2: begin a new one */
	/* Told by the plugin: */
	u64 answer;  /* PTEMU_VERSION */
	u64 written; /* bytes since the start */
	u64 full;    /* the limit was reached, and tracing stopped there */
	u64 instructions, branches, cycles, overflows, lost;
	u64 unexplained; /* steps from an instruction to another that no packet tells */
};

#endif
