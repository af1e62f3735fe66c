/* SPDX-License-Identifier: GPL-2.0-only */
/* What the timer's interrupt came upon, as the trigger saw it. */
#ifndef REPORT_SPIKE_STACK_H
#define REPORT_SPIKE_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define STACK_FRAMES_MAX 64

struct spike_frame {
	/* A function of the kernel; of user space and where none is known, a file or an address. */
	char name[96];
	char module[48]; /* empty: the kernel proper */
	bool user;
	bool function;
};

/* Innermost first. */
struct spike_stack {
	struct spike_frame frames[STACK_FRAMES_MAX];
	size_t nr;
	int tid;      /* whose it is */
	bool irqs_on; /* the code shows that interrupts were on; else it is not known */
};

#define STACK_NONE SIZE_MAX

/* The frame that kept the timer waiting, if one did: it turned interrupts on again, and is not
 * there for that alone. STACK_NONE: interrupts were on, as in user space, or nothing is known. */
size_t spike_stack_culprit(const struct spike_stack *stack);

/* Where the task was switched from: not the scheduler's own. STACK_NONE: not known. */
size_t spike_stack_switched(const struct spike_stack *stack);

/* The frame that the interrupt came upon where interrupts are on, or off for a moment only: no code
 * of the kernel kept it waiting. STACK_NONE: it is not so. */
size_t spike_stack_open(const struct spike_stack *stack);

/* Whether a function is one that waits for interrupts. */
bool spike_stack_is_idle(const struct spike_stack *stack);

/* As `acme_flush() [acme]`. */
void spike_stack_put_frame(FILE *file, const struct spike_frame *frame);

/* What called a frame: `before`, then a few, innermost first; those of its side alone, the kernel's
 * or the program's. */
void spike_stack_put_callers(FILE *file, const struct spike_stack *stack, size_t frame,
			     const char *before);

/* Of one that spike_stack_open() has found: the interrupt came late by itself. */
void spike_stack_put_open(FILE *file, const struct spike_stack *stack);

/* Of one that spike_stack_switched() has found. */
void spike_stack_put_switched(FILE *file, const struct spike_stack *stack);

#endif
