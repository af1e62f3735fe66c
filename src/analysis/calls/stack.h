/* SPDX-License-Identifier: GPL-2.0-only */
/* The call stack of a thread, as slices on its track. */
#ifndef DECODE_STACK_H
#define DECODE_STACK_H

#include "calls/timeline.h"
#include "code/symbol.h"

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
	bool before;   /* began before the trace */
	uint64_t back; /* return address; 0: unknown */
	uint64_t time; /* ns */
	struct counts counts;
	/* Index + 1 of the next outer frame, 0: none, whose return address has the same hash; that
	 * is an interrupt; that is an interrupt or a system call. */
	uint32_t same_hash, interrupt, entry;
};

/* Shared by all stacks. */
struct stack_env {
	struct timeline *timeline;
	struct {
		uint32_t kernel, user, interrupt, syscall, untraced;
	} category;
	struct {
		uint32_t insns, cycles, ipc, span, before, unfinished;
	} key;
	uint32_t untraced; /* name */
	int r;
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

#endif
