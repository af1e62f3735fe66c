/* SPDX-License-Identifier: GPL-2.0-only */
/* What the timer's interrupt hit, as recorded by the trigger. */
#ifndef REPORT_SPIKE_STACK_H
#define REPORT_SPIKE_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define STACK_FRAMES_MAX 64

struct spike_frame {
	/* A function; if unknown, for user space a file and an offset, or an address. */
	char name[96];
	char module[48]; /* of the function: empty: vmlinux; for user space its file */
	bool user;
	bool function; /* of the kernel */
};

/* Interrupts before the one that took the stack, as the code there shows it. */
enum irqs_before {
	IRQS_NOT_KNOWN,
	IRQS_WERE_ON,
	IRQS_WERE_OFF, /* the interrupt came as soon as they were enabled */
};

/* Innermost first. */
struct spike_stack {
	struct spike_frame frames[STACK_FRAMES_MAX];
	size_t nr;
	int tid; /* owner of the stack */
	enum irqs_before irqs;
	bool interrupted; /* for a late thread: interrupted by the timer; otherwise switched out
			     there */
};

#define STACK_NONE SIZE_MAX

/* The frame that kept interrupts off and delayed the timer, if they were off: the one that enabled
 * them again, without helpers. STACK_NONE: they were on, as in user space. */
size_t spike_stack_culprit(const struct spike_stack *stack);

/* The frame in which the task was switched out, outside the scheduler. STACK_NONE: unknown. */
size_t spike_stack_switched(const struct spike_stack *stack);

/* The interrupted frame, if interrupts were on there, or off only briefly: no kernel code delayed
 * the interrupt. Otherwise STACK_NONE. */
size_t spike_stack_open(const struct spike_stack *stack);

/* The outermost frame of a function. STACK_NONE: none. */
size_t spike_stack_find(const struct spike_stack *stack, const char *function);

/* Of two stacks of one thread, the innermost frame of `stack` that was there all the time, judging
 * by its callers. STACK_NONE: there is none. */
size_t spike_stack_common(const struct spike_stack *stack, const struct spike_stack *other);

/* Of two stacks of one thread, whether it was switched out in a function that it called after
 * `before`. */
bool spike_stack_went_on(const struct spike_stack *stack, const struct spike_stack *before);

/* Such as `acme_flush() [acme]`. */
void spike_stack_put_frame(FILE *file, const struct spike_frame *frame);

/* Writes `before` and a few callers of a frame, innermost first, all from the same side (kernel or
 * user). */
void spike_stack_put_callers(FILE *file, const struct spike_stack *stack, size_t frame,
			     const char *before);

/* Whether the task was switched out as soon as the kernel enabled preemption. */
bool spike_stack_preempted(const struct spike_stack *stack);

/* Whether the timer's interrupt hit the scheduler just before the task ran: the stack does not show
 * what the task executed. */
bool spike_stack_switched_in(const struct spike_stack *stack);

/* For a frame of a late thread, found by spike_stack_switched(). */
void spike_stack_put_switched(FILE *file, const struct spike_stack *stack);

#endif
