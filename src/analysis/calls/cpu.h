/* SPDX-License-Identifier: GPL-2.0-only */
/* The threads of a trace and their stacks, as slices on their tracks. Events of a CPU other than
 * functions: tasks, interrupts, interrupts off, gaps in the trace. */
#ifndef DECODE_CPU_H
#define DECODE_CPU_H

#include "calls/timeline.h"
#include "code/code.h"
#include "code/names.h"
#include "pt/item.h"

/* ---- call_stack.c --------------------------------------------------------------------------- */

/* Deeper stacks have frames without returns. */
#define STACK_DEPTH_MAX 100000

enum frame_kind {
	FRAME_CALL,
	FRAME_INTERRUPT, /* also exceptions */
	FRAME_SYSCALL,
	FRAME_UNTRACED, /* a call to untraced code */
};

/* Counts since the begin of the trace. */
struct counts {
	uint64_t insns, cycles;
};

struct frame {
	const struct symbol *symbol;
	enum frame_kind kind;
	bool before;			/* began before the trace */
	const struct code_chain *chain; /* inlined functions, slices inside this one's; or NULL */
	uint64_t back;			/* return address; 0: unknown */
	uint64_t time;			/* ns */
	struct counts counts;
	/* Index + 1 of the next outer frame, 0: none, whose return address has the same hash; that
	 * is an interrupt; that is an interrupt or a system call. */
	uint32_t same_hash, interrupt, entry;
};

/* Shared by all stacks. */
struct stack_env {
	struct timeline *timeline;
	struct {
		uint32_t kernel, user, interrupt, syscall, untraced, inlined;
	} category;
	struct {
		uint32_t insns, cycles, ipc, span, before, unfinished;
	} key;
	uint32_t untraced; /* name */
	bool uncounted;	   /* instructions are not known */
	int err;
};

struct stack {
	struct stack_env *env;
	struct track *track;
	struct track *cpu; /* the track of its CPU; or NULL */
	struct frame *frames;
	size_t nr, room;	   /* a power of two */
	uint32_t *by_back;	   /* innermost frame by hash of return address; as many as room */
	uint32_t interrupt, entry; /* innermost ones, as in a frame */
	struct counts counts;	   /* of the thread */
	struct frame root;	   /* counts when the stack became known */
	bool whole;		   /* it was empty then */
};

/* A time, and its position on the axis. */
struct moment {
	uint64_t time, at;
};

int stack_env_new(struct stack_env *env, struct timeline *timeline,
		  struct names *names) _must_check_;
void stack_release(struct stack *stack);

/* Restarts with an empty stack. whole: no frames exist below. */
void stack_restart(struct stack *stack, const struct moment *now, bool whole);

/* The thread runs on the CPU of this track; NULL: on none. */
void stack_run_on(struct stack *stack, const struct moment *now, struct track *cpu);

void stack_push(struct stack *stack, const struct moment *now, const struct symbol *symbol,
		enum frame_kind kind, uint64_t back);
/* Ends frames until nr are left. */
void stack_pop(struct stack *stack, const struct moment *now, size_t nr);
/* Replaces the function of the innermost frame, without a call. */
void stack_replace(struct stack *stack, const struct moment *now, const struct symbol *symbol);
/* The innermost frame executes code of these inlined functions; NULL: of none. */
void stack_set_chain(struct stack *stack, const struct moment *now, const struct code_chain *chain,
		     struct names *names);
/* Adds the frame below an empty stack. */
void stack_uncover(struct stack *stack, const struct moment *now, const struct symbol *symbol);

/* The frame that a return ends, not beyond an interrupt. stack->nr: none. */
size_t stack_find_return(const struct stack *stack, uint64_t to);
/* The same by function. */
size_t stack_find_function(const struct stack *stack, const struct symbol *symbol);
/* The interrupt or system call that a return from the kernel ends; iret ends both. stack->nr:
 * none. */
size_t stack_find_entry(const struct stack *stack, bool iret, uint64_t to);
/* Whether the innermost one was entered from this address. */
bool stack_entry_returns(const struct stack *stack, uint64_t to);
bool stack_is_in_interrupt(const struct stack *stack);

/* Ends all frames at the end of the trace. */
void stack_finish(struct stack *stack, const struct moment *now);

static inline struct frame *stack_top(const struct stack *stack)
{
	return stack->nr ? &stack->frames[stack->nr - 1] : NULL;
}

/* ---- cpu.c ---------------------------------------------------------------------------------- */

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
	uint32_t process, category, irqs_unknown, latency, late, spike, wakeup, sent;
	uint32_t lost[LOSS_NR];
	uint32_t untraced[UNTRACED_NR];
};

int cpu_names_new(struct cpu_names *cpu_names, struct names *names) _must_check_;

struct track_id cpu_track_id(struct names *names, const struct cpu_names *cpu_names, int number,
			     enum track_kind kind);

/* NULL if out of memory. */
struct cpu *cpu_new(struct timeline *timeline, struct names *names,
		    const struct cpu_names *cpu_names, int number);

void threads_release(struct threads *threads);

/* The thread that runs on this CPU. comm: its current name; NULL: unknown. NULL if out of
 * memory. */
struct thread *threads_find_or_add(struct threads *threads, const struct cpu *cpu, int pid, int tid,
				   const char *comm);

/* Returns whether the name has changed. */
bool thread_rename(struct thread *thread, struct names *names, const char *comm);

/* A slice for interrupts off, named after the function `by` that turned them off, or for a state
 * that nothing shows. */
void cpu_change_irqs(struct cpu *cpu, const struct cpu_names *names, enum irq_change change,
		     uint32_t by);
/* The trace does not show the state from `since` on. */
void cpu_irqs_lost(struct cpu *cpu, const struct cpu_names *names, uint64_t since);
/* Something at this moment shows the state, which may have changed at any time since. by: as
 * above. */
void cpu_see_irqs(struct cpu *cpu, const struct cpu_names *names, bool off, uint64_t since,
		  uint32_t by);
/* The CPU itself turns interrupts off. maskable: they were on until now. */
void cpu_begin_interrupt(struct cpu *cpu, const struct cpu_names *names, uint32_t handler,
			 bool maskable);
/* Restores the interrupt state from before the interrupt. */
void cpu_end_interrupt(struct cpu *cpu, const struct cpu_names *names, uint32_t to);

void cpu_switch_thread(struct cpu *cpu, const struct cpu_names *names, struct thread *thread);

/* The running task was renamed. */
void cpu_rename_task(struct cpu *cpu, const struct cpu_names *names);

/* Adds a gap in the trace from `since` to now, named by its reason. */
void cpu_add_trace_gap(struct cpu *cpu, const struct cpu_names *names, uint64_t since,
		       uint32_t why);

/* A timer is late now, after its earlier expected expiry. */
void cpu_add_spike_mark(struct cpu *cpu, const struct cpu_names *names, uint64_t expected_at,
			uint64_t latency_ns);

#endif
