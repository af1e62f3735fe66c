/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files of calls. */
#ifndef DECODE_CALLS_INTERNAL_H
#define DECODE_CALLS_INTERNAL_H

#include "calls/calls.h"

struct calls {
	struct calls_opts opts;
	struct timeline *timeline;
	struct names *names;
	struct stack_env env;
	struct cpu_names cpu_names;
	struct cpu *cpus, *cpu; /* all, and the current one */
	struct thread *threads;
	struct symbol unknown;
	uint64_t last;	/* ns */
	uint64_t quiet; /* until then advance() changes only the time */
	uint64_t gaps;
	uint64_t expected_at;
	bool has_expected, has_spike;
	int r;
};

/* Position of the CPU on the timeline's axis. */
uint64_t calls_position(const struct calls *calls, const struct cpu *cpu);
void calls_move(const struct calls *calls, struct cpu *cpu, uint64_t time);

/* Advances the time: the window may open or end, and the spike may pass. */
void calls_advance(struct calls *calls, struct cpu *cpu, uint64_t time);
void calls_mark_spike(struct calls *calls, struct cpu *cpu, uint64_t time);

void calls_free_threads(struct calls *calls);

/* The thread that runs on this CPU. comm: its current name; NULL: unknown. NULL if out of
 * memory. */
struct thread *calls_thread(struct calls *calls, const struct cpu *cpu, int pid, int tid,
			    const char *comm);

/* Returns whether the name has changed. */
bool calls_rename(struct calls *calls, struct thread *thread, const char *comm);

void calls_count(struct calls *calls, struct cpu *cpu, uint64_t insns, uint64_t cycles);

#endif
