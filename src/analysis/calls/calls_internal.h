/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files of calls. */
#ifndef DECODE_CALLS_INTERNAL_H
#define DECODE_CALLS_INTERNAL_H

#include "calls/calls.h"
#include "calls/cpu.h"
#include "pt/decode.h"

struct calls {
	struct calls_opts opts;
	struct timeline *timeline;
	struct names *names;
	struct threads threads;
	struct cpu_names cpu_names;
	struct cpu *cpus, *cpu; /* all, and the current one */
	/* The current item, and what follows it; NULL: unknown. */
	const struct decode_item *item, *next;
	struct symbol unknown;
	uint64_t last;	/* ns */
	uint64_t quiet; /* until then only the time changes */
	uint64_t gaps;
	uint64_t errors; /* of the decoder, in the window */
	struct decode_item first_error;
	uint64_t expected_at;
	bool has_expected, has_spike;
	int err;
};

/* ---- calls_flow.c --------------------------------------------------------------------------- */

/* The symbol of the place where execution continues; NULL: unknown. */
const struct symbol *calls_symbol_of_next(const struct calls *calls);
const struct symbol *calls_symbol_at(struct calls *calls, uint64_t ip);
void calls_change_irqs(struct calls *calls, struct cpu *cpu, enum irq_change change,
		       const struct symbol *by);

/* Interrupts on the CPU's track end with their frames. */
void calls_pop_frames(struct calls *calls, struct cpu *cpu, size_t nr);

/* Execution continues at an address, for an unknown reason, or begins there. */
void calls_resync_stack(struct calls *calls, struct cpu *cpu, const struct symbol *symbol);

/* Execution is at an address, which should be in the innermost function. If not, execution ran from
 * one function into the next. symbol: of the address; NULL: not looked up yet. */
const struct symbol *calls_arrive_at(struct calls *calls, struct cpu *cpu, uint64_t ip,
				     const struct symbol *symbol);

/* The trace begins, or continues after a gap; it ends; the item ends with a branch. */
void calls_begin_trace(struct calls *calls, struct cpu *cpu, uint64_t ip);
void calls_end_trace(struct calls *calls, struct cpu *cpu, bool async);
void calls_take_branch(struct calls *calls, struct cpu *cpu, uint64_t from);

#endif
