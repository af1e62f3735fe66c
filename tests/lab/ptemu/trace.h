/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The trace of one vCPU: from executed instructions to packets. The plugin tells each instruction
 * when it begins, and each interrupt and exception; it gives back what is to be written.
 */
#ifndef PTEMU_TRACE_H
#define PTEMU_TRACE_H

#include "insn.h"
#include "packets.h"
#include "ptemu.h"
#include "trace_marks.h"

#include <stdio.h>

#define TRACE_BUFFER 4096
#define TRACE_CALLS 64
#define PAGE_FAULT 14

struct trace {
	struct ptemu_block *block; /* the configuration, and what is counted */
	bool on;
	bool enabled;		 /* PacketEn: the last ip is of what is traced */
	const struct insn *last; /* begun; whether it is done the next one tells */
	u64 expected;		 /* without `last`: where the CPU goes on, 0 if that is open */
	u64 halted;		 /* when, while the CPU sleeps */
	u64 lose;		 /* so many more instructions */
	u64 cr3, new_cr3;
	u64 smi; /* when it came, while the CPU is in the mode of it, which is never traced */
	/* Time, in the guest's TSC */
	u64 told; /* of what is told only now; 0: it has just happened */
	s64 tsc_offset;
	u64 counted; /* now, where time is what is executed */
	u64 cycle;   /* from when on cycles are not told yet */
	u64 next_mtc;
	/* Return compression: where the newest calls return to */
	u64 calls[TRACE_CALLS];
	unsigned int call_count, call_next;
	u64 since_psb;
	struct ptsim_packets p; /* not taken yet, in `buffer` */
	u8 buffer[TRACE_BUFFER + 1024];
	FILE *log;
};

void trace_start(struct trace *t, u64 cr3);
/* Before `at`, which was begun with trace_insn() */
void trace_stop(struct trace *t, const struct insn *at);
/* Loses packets for some instructions. */
void trace_overflow(struct trace *t);

void trace_insn(struct trace *t, const struct insn *insn);
/* An interrupt or exception, with its vector, and what CR2 is of a page fault. */
void trace_event(struct trace *t, u64 from, u64 to, u8 vector, u64 cr2);

u64 trace_now(const struct trace *t);

#endif
