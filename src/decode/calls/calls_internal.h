/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files of calls. */
#ifndef DECODE_CALLS_INTERNAL_H
#define DECODE_CALLS_INTERNAL_H

#include "blocks/decode.h"
#include "calls/calls.h"
#include "calls/cpu.h"

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
	uint64_t quiet; /* until then calls_advance() changes only the time */
	uint64_t gaps;
	uint64_t expected_at;
	bool has_expected, has_spike;
	int r;
};

/* NULL if out of memory. */
struct cpu *calls_cpu(struct calls *calls, int number);

/* Advances the time: the window may open or end, and the spike may pass. */
void calls_advance(struct calls *calls, struct cpu *cpu, uint64_t time);
void calls_move(const struct calls *calls, struct cpu *cpu, uint64_t time);
void calls_count(struct calls *calls, struct cpu *cpu, uint64_t insns, uint64_t cycles);

/* Adds the current item. */
void calls_add_item(struct calls *calls);

#endif
