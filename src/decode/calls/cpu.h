/* SPDX-License-Identifier: GPL-2.0-only */
/* Events of a CPU other than functions: tasks, interrupts, interrupts off, gaps in its trace. */
#ifndef DECODE_CPU_H
#define DECODE_CPU_H

#include "blocks/item.h"
#include "calls/stack.h"

#define CPU_NESTING_MAX 16

struct thread {
	struct stack stack;
	int tid, pid;
	int cpu;	     /* idle and unknown tasks have one for each CPU; others -1 */
	uint32_t comm, name; /* the latter with its number */
	struct thread *next;
};

struct cpu {
	int number;
	struct track *tracks[TRACK_NR_OF_CPU];
	struct thread *thread; /* that runs */
	struct counts counts, origin;
	struct moment now;
	uint64_t ip;		    /* where execution continues; 0: unknown */
	uint64_t begin;		    /* of the code since the last branch */
	uint64_t ended;		    /* end of the trace, while it is off */
	bool off, sequential, left; /* `left` by a return to untraced code */
	uint8_t untraced;	    /* enum untraced: while it is off */
	/* Whether interrupts are off, and were before each interrupt. */
	bool irqs_off, saved[CPU_NESTING_MAX];
	size_t nesting;
	struct cpu *next;
};

struct cpu_names {
	uint32_t process, category, lost, latency, late, spike;
	uint32_t untraced[UNTRACED_NR];
};

int cpu_names_new(struct cpu_names *cpu_names, struct names *names) _must_check_;

/* NULL if out of memory. */
struct cpu *cpu_new(struct timeline *timeline, struct names *names,
		    const struct cpu_names *cpu_names, int number);

/* Interrupts off are a slice named after the function that turned them off: `by`, a name. */
void cpu_irqs(struct cpu *cpu, const struct cpu_names *names, enum irq_change change, uint32_t by);
void cpu_interrupt(struct cpu *cpu, const struct cpu_names *names, uint32_t handler);
/* Interrupts are as they were before the interrupt. */
void cpu_interrupt_end(struct cpu *cpu, const struct cpu_names *names, uint32_t to);

/* Another task runs. */
void cpu_switch(struct cpu *cpu, const struct cpu_names *names, struct thread *thread);

/* The running task has a new name. */
void cpu_rename(struct cpu *cpu, const struct cpu_names *names);

/* Adds a gap without trace from there to now, with the reason as its name. */
void cpu_gap(struct cpu *cpu, const struct cpu_names *names, uint64_t since, uint32_t why);

/* A timer with an earlier expected expiry is late now. */
void cpu_spike(struct cpu *cpu, const struct cpu_names *names, uint64_t expected_at,
	       uint64_t latency_ns);

#endif
