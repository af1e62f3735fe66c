/* SPDX-License-Identifier: GPL-2.0-only */
/* The threads of a trace. Events of a CPU other than functions: tasks, interrupts, interrupts off,
 * gaps in the trace. */
#ifndef DECODE_CPU_H
#define DECODE_CPU_H

#include "calls/stack.h"
#include "pt/item.h"

#define CPU_NESTING_MAX 16

struct thread {
	struct stack stack;
	int tid, pid;
	int cpu;	     /* idle and unknown tasks have one per CPU; others -1 */
	uint32_t comm, name; /* name without and with the thread ID */
	struct thread *next;
};

struct threads {
	struct stack_env env;
	struct names *names;
	struct thread *first;
};

/* Why it is unknown what was executed. */
enum loss { LOSS_OF_TRACE, LOSS_OF_CODE, LOSS_BY_ERROR, LOSS_NR };

enum irqs {
	IRQS_ON, /* also before the trace begins */
	IRQS_OFF,
	IRQS_UNKNOWN,
};

struct cpu {
	int number;
	struct track *tracks[TRACK_NR_OF_CPU];
	struct thread *thread; /* the running thread */
	struct counts counts, origin;
	struct moment now;
	uint64_t ip;		    /* where execution continues; 0: unknown */
	uint64_t ended;		    /* end of the trace, while off */
	bool off, sequential, left; /* left: ended by a return to untraced code */
	uint8_t untraced;	    /* enum untraced, while off */
	uint8_t loss;		    /* enum loss, since the last item */
	/* enum irqs, now and before each nested interrupt */
	uint8_t irqs, saved[CPU_NESTING_MAX];
	size_t nesting;
	struct cpu *next;
};

struct cpu_names {
	uint32_t process, category, irqs_unknown, latency, late, spike;
	uint32_t lost[LOSS_NR];
	uint32_t untraced[UNTRACED_NR];
};

int cpu_names_new(struct cpu_names *cpu_names, struct names *names) _must_check_;

/* NULL if out of memory. */
struct cpu *cpu_new(struct timeline *timeline, struct names *names,
		    const struct cpu_names *cpu_names, int number);

int threads_init(struct threads *threads, struct timeline *timeline,
		 struct names *names) _must_check_;
void threads_release(struct threads *threads);

/* The thread that runs on this CPU. comm: its current name; NULL: unknown. NULL if out of
 * memory. */
struct thread *threads_get(struct threads *threads, const struct cpu *cpu, int pid, int tid,
			   const char *comm);

/* Returns whether the name has changed. */
bool thread_rename(struct thread *thread, struct names *names, const char *comm);

/* A slice for interrupts off, named after the function `by` that turned them off, or for a state
 * that nothing shows. */
void cpu_irqs(struct cpu *cpu, const struct cpu_names *names, enum irq_change change, uint32_t by);
/* The trace does not show the state from `since` on. */
void cpu_irqs_lost(struct cpu *cpu, const struct cpu_names *names, uint64_t since);
/* The CPU itself turns interrupts off. maskable: they were on until now. */
void cpu_interrupt(struct cpu *cpu, const struct cpu_names *names, uint32_t handler, bool maskable);
/* Restores the interrupt state from before the interrupt. */
void cpu_interrupt_end(struct cpu *cpu, const struct cpu_names *names, uint32_t to);

void cpu_switch(struct cpu *cpu, const struct cpu_names *names, struct thread *thread);

/* The running task was renamed. */
void cpu_rename(struct cpu *cpu, const struct cpu_names *names);

/* Adds a gap in the trace from `since` to now, named by its reason. */
void cpu_gap(struct cpu *cpu, const struct cpu_names *names, uint64_t since, uint32_t why);

/* A timer is late now, after its earlier expected expiry. */
void cpu_spike(struct cpu *cpu, const struct cpu_names *names, uint64_t expected_at,
	       uint64_t latency_ns);

#endif
