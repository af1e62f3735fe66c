/* SPDX-License-Identifier: GPL-2.0-only */
/* What a CPU does beside functions: its tasks, interrupts, interrupts off, gaps in its trace. */
#ifndef DECODE_CPU_H
#define DECODE_CPU_H

#include "item.h"
#include "stack.h"

#define CPU_NESTING_MAX 16

struct thread {
	struct stack stack;
	int tid, pid;
	int cpu; /* idle tasks, and those that are not known, have one each; others -1 */
	uint32_t comm, name; /* the latter with its number */
	struct thread *next;
};

struct cpu {
	int number;
	struct track *tracks[TRACK_NR_OF_CPU];
	struct thread *thread; /* that runs */
	struct counts counts, origin;
	struct moment now;
	uint64_t ip;		    /* where execution goes on; 0: not known */
	uint64_t begin;		    /* of the code since the last branch */
	uint64_t ended;		    /* position of the end of the trace; it is off */
	bool off, sequential, left; /* `left` by a return to where is no trace */
	uint8_t untraced;	    /* enum untraced: while it is off */
	/* Whether interrupts were off before each interrupt, and are. */
	bool irqs_off, saved[CPU_NESTING_MAX];
	size_t nesting;
	struct cpu *next;
};

struct cpu_names {
	uint32_t process, category, lost, latency, late, spike;
	uint32_t untraced[UNTRACED_NR];
};

int cpu_names_new(struct cpu_names *cpu_names, struct names *names) _must_check_;

/* NULL if there is no memory. */
struct cpu *cpu_new(struct timeline *timeline, struct names *names,
		    const struct cpu_names *cpu_names, int number);

/* Interrupts off are a slice that is called as the function that turned them off: `by`, a name. */
void cpu_irqs(struct cpu *cpu, const struct cpu_names *names, enum irq_change change, uint32_t by);
void cpu_interrupt(struct cpu *cpu, const struct cpu_names *names, uint32_t handler);
/* Interrupts are as they were before it. */
void cpu_interrupt_end(struct cpu *cpu, const struct cpu_names *names, uint32_t to);

/* Another task runs. */
void cpu_switch(struct cpu *cpu, const struct cpu_names *names, struct thread *thread);

/* The task that runs has another name. */
void cpu_rename(struct cpu *cpu, const struct cpu_names *names);

/* From there to now there is no trace: why, by name. */
void cpu_gap(struct cpu *cpu, const struct cpu_names *names, uint64_t since, uint32_t why);

/* A timer that was to expire at a position before is late now. */
void cpu_spike(struct cpu *cpu, const struct cpu_names *names, uint64_t expected_at,
	       uint64_t latency_ns);

#endif
