/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What QEMU tells no plugins, but exports for its own modules: the guest's time with -icount, and
 * which CPU it is that runs. Callbacks are given the CPU that a block was translated on where all
 * run in one thread, as they do with -icount.
 */
#ifndef PTEMU_INSIDE_H
#define PTEMU_INSIDE_H

#include <linux/types.h>

/* All CPUs run in one thread. False, and said why, if this QEMU does not tell more */
bool inside_single(void);
/* Besides, 2^shift ns of the guest, which are ticks of its TSC, are an instruction. */
bool inside_icount(unsigned int shift);

/* Of this CPU, which is running now */
void inside_add(unsigned int index);
/* Which CPU it is, if the callback says that it is `index` */
unsigned int inside_cpu(unsigned int index);
/* To be called when a block begins. With -icount it gives the other CPUs their turns.
 * True if another CPU runs than did before */
bool inside_block(size_t insns);

/* Ticks an instruction; 0: time is not counted */
u64 inside_step(void);
/* With all instructions of the block that has begun */
u64 inside_now(void);

#endif
