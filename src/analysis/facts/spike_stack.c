// SPDX-License-Identifier: GPL-2.0-only
#include "facts/facts.h"

#include <string.h>

#include "kernel_function.h"
#include "text.h"
#include "util.h"

#define CALLERS_MAX 3

/* The exit of an interrupt enables interrupts before it schedules. */
static bool exits_interrupt(const struct spike_stack *stack)
{
	size_t i = stack->nr > 1 && !strcmp(stack->frames[0].name, "__schedule");

	return !strcmp(stack->frames[i].name, "irqentry_exit") ||
	       !strcmp(stack->frames[i].name, "preempt_schedule_irq");
}

/* If the timer's interrupt hit the exit of another interrupt, both were pending and hit the same
 * place. Returns the index of the frame below that interrupt's entry, otherwise 0. */
static size_t behind_interrupt(const struct spike_stack *stack)
{
	for (size_t i = 0; i + 1 < stack->nr; i++) {
		const char *name = stack->frames[i].name;

		if (kernel_function_find(name, KERNEL_INTERRUPT))
			return stack->frames[i + 1].function ? i + 1 : 0;
		if (!i && !exits_interrupt(stack))
			return 0;
	}
	return 0;
}

static size_t find_turning_on(const struct spike_stack *stack)
{
	for (size_t i = behind_interrupt(stack); i < stack->nr && stack->frames[i].function; i++) {
		if (!kernel_function_find(stack->frames[i].name, KERNEL_IRQS_ON))
			return i;
	}
	return STACK_NONE;
}

size_t spike_stack_culprit(const struct spike_stack *stack)
{
	size_t found = find_turning_on(stack);

	if (stack->irqs == IRQS_WERE_ON && !behind_interrupt(stack))
		return STACK_NONE;
	return found != STACK_NONE && kernel_function_find(stack->frames[found].name, KERNEL_PASSES)
		       ? STACK_NONE
		       : found;
}

/* The first frame of the task itself, without other interrupts that hit it, and their softirqs. */
static size_t find_task_frame(const struct spike_stack *stack)
{
	size_t i = stack->nr;

	while (i && !kernel_function_find(stack->frames[i - 1].name, KERNEL_INTERRUPT))
		i--;
	return i;
}

size_t spike_stack_switched(const struct spike_stack *stack)
{
	for (size_t i = find_task_frame(stack); i < stack->nr; i++) {
		const struct spike_frame *frame = &stack->frames[i];

		if (frame->user ||
		    (frame->function &&
		     !kernel_function_find(frame->name, KERNEL_IRQS_ON | KERNEL_PASSES)))
			return i;
	}
	return STACK_NONE;
}

bool spike_stack_preempted(const struct spike_stack *stack)
{
	size_t end = spike_stack_switched(stack);
	bool found = false;

	for (size_t i = 0; i < end && i < stack->nr; i++) {
		/* The kernel preempts nobody before such a point, wherever preemption was off. */
		if (has_prefix(stack->frames[i].name, "__cond_resched"))
			return false;
		if (has_prefix(stack->frames[i].name, "preempt_schedule"))
			found = true;
	}
	return found;
}

bool spike_stack_switched_in(const struct spike_stack *stack)
{
	size_t found = spike_stack_switched(stack);

	return found != STACK_NONE && has_prefix(stack->frames[found].name, "finish_task_switch");
}

size_t spike_stack_open(const struct spike_stack *stack)
{
	size_t found = find_turning_on(stack);

	if (stack->nr &&
	    (stack->frames[0].user || (stack->irqs == IRQS_WERE_ON && !behind_interrupt(stack))))
		return 0;
	if (found == STACK_NONE)
		return STACK_NONE;
	return kernel_function_find(stack->frames[found].name, KERNEL_PASSES) ? found : STACK_NONE;
}

size_t spike_stack_find(const struct spike_stack *stack, const char *function)
{
	for (size_t i = stack->nr; i > 0; i--) {
		if (stack->frames[i - 1].function && !strcmp(stack->frames[i - 1].name, function))
			return i - 1;
	}
	return STACK_NONE;
}

static size_t count_kernel_frames(const struct spike_stack *stack)
{
	size_t nr = 0;

	while (nr < stack->nr && !stack->frames[nr].user)
		nr++;
	return nr;
}

size_t spike_stack_common(const struct spike_stack *stack, const struct spike_stack *other)
{
	size_t i = count_kernel_frames(stack), j = count_kernel_frames(other), found = STACK_NONE;

	while (i-- && j-- && !strcmp(stack->frames[i].name, other->frames[j].name))
		found = i;
	return found;
}

bool spike_stack_went_on(const struct spike_stack *stack, const struct spike_stack *before)
{
	size_t end = spike_stack_switched(stack);

	/* On the way to user space, or as soon as the kernel enabled preemption, it was switched
	 * out for others. */
	return end != STACK_NONE && !stack->frames[end].user && !spike_stack_preempted(stack) &&
	       end < spike_stack_common(stack, before);
}

void spike_stack_put_frame(FILE *file, const struct spike_frame *frame)
{
	bool named = frame->function || (frame->user && frame->module[0]);

	fprintf(file, "%s%s", frame->name, named ? "()" : "");
	if (frame->module[0])
		fprintf(file, " [%s]", frame->module);
}

void spike_stack_put_callers(FILE *file, const struct spike_stack *stack, size_t frame,
			     const char *before)
{
	size_t nr = 0;

	for (size_t i = frame + 1; i < stack->nr; i++) {
		if (stack->frames[i].user != stack->frames[frame].user)
			return;
		if (nr == CALLERS_MAX) {
			fputs(" < ...", file);
			return;
		}
		fputs(nr++ ? " < " : before, file);
		spike_stack_put_frame(file, &stack->frames[i]);
	}
}

void spike_stack_put_switched(FILE *file, const struct spike_stack *stack)
{
	size_t frame = spike_stack_switched(stack), user = frame;

	fprintf(file, "%s%s",
		stack->interrupted ? "; the timer's interrupt hit "
				   : ", until it was switched out in ",
		stack->frames[frame].user ? "user space, in " : "");
	spike_stack_put_frame(file, &stack->frames[frame]);
	spike_stack_put_callers(file, stack, frame, ", called from ");
	/* For a system call: the user-space code that made it. */
	while (user < stack->nr && !stack->frames[user].user)
		user++;
	if (user == frame || user == stack->nr)
		return;
	fputs(", for user space in ", file);
	spike_stack_put_frame(file, &stack->frames[user]);
	spike_stack_put_callers(file, stack, user, ", called from ");
}
