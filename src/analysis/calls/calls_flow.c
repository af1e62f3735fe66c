// SPDX-License-Identifier: GPL-2.0-only
/* How execution goes on: at branches and interrupts, and where the trace begins and ends. */
#include "calls/calls_internal.h"
#include "code/code.h"
#include "kernel_function.h"

/* Entries that are no system call, or of which that is unknown. */
#define INTERRUPTS (KERNEL_INTERRUPT | KERNEL_NMI | KERNEL_EXCEPTION | KERNEL_EVENT)

const struct symbol *calls_symbol_of_next(const struct calls *calls)
{
	const struct decode_item *item = calls->item, *next = calls->next;

	if (!next || next->kind != DECODE_BLOCK || !next->code || next->first != item->to ||
	    next->cpu != item->cpu)
		return NULL;
	return next->code->rows->symbol;
}

const struct symbol *calls_symbol_at(struct calls *calls, uint64_t ip)
{
	const struct symbol *symbol = NULL;

	/* Usually the address where execution continued; a lookup takes longer. */
	if (ip == calls->item->to)
		symbol = calls_symbol_of_next(calls);
	return code_named_symbol(symbol ?: decode_symbol(calls->opts.decode, calls->item, ip),
				 calls->names);
}

void calls_change_irqs(struct calls *calls, struct cpu *cpu, enum irq_change change,
		       const struct symbol *by)
{
	cpu_change_irqs(cpu, &calls->cpu_names, change, by->name);
}

void calls_pop_frames(struct calls *calls, struct cpu *cpu, size_t nr)
{
	struct stack *stack = &cpu->thread->stack;

	while (stack->nr > nr) {
		bool interrupt = stack_top(stack)->kind == FRAME_INTERRUPT;

		stack_pop(stack, &cpu->now, stack->nr - 1);
		if (interrupt)
			cpu_end_interrupt(
				cpu, &calls->cpu_names,
				(stack->nr ? stack_top(stack)->symbol : &calls->unknown)->name);
	}
}

/* Forgets the thread's stack: the callers are unknown. */
static void restart_thread_stack(struct calls *calls, struct cpu *cpu, const struct symbol *symbol,
				 bool whole)
{
	struct stack *stack = &cpu->thread->stack;

	calls_pop_frames(calls, cpu, 0);
	stack_restart(stack, &cpu->now, whole);
	stack_push(stack, &cpu->now, symbol, FRAME_CALL, 0);
}

void calls_resync_stack(struct calls *calls, struct cpu *cpu, const struct symbol *symbol)
{
	struct stack *stack = &cpu->thread->stack;

	for (size_t i = stack->nr; i--;) {
		if (stack->frames[i].kind != FRAME_UNTRACED &&
		    symbol_is_same(stack->frames[i].symbol, symbol)) {
			calls_pop_frames(calls, cpu, i + 1);
			return;
		}
	}
	restart_thread_stack(calls, cpu, symbol, false);
}

/* By a jump. Entries end in code that they share, such as error_return: that is part of them. */
static void go_on_in_function(const struct calls *calls, struct cpu *cpu,
			      const struct symbol *symbol)
{
	struct stack *stack = &cpu->thread->stack;
	const struct frame *top = stack_top(stack);

	if ((top->kind == FRAME_INTERRUPT || top->kind == FRAME_SYSCALL) &&
	    !kernel_function_find(names_get(calls->names, symbol->name),
				  INTERRUPTS | KERNEL_PASSES))
		stack_push(stack, &cpu->now, symbol, FRAME_CALL, 0);
	else
		stack_replace(stack, &cpu->now, symbol);
}

const struct symbol *calls_arrive_at(struct calls *calls, struct cpu *cpu, uint64_t ip,
				     const struct symbol *symbol)
{
	struct stack *stack = &cpu->thread->stack;
	struct frame *top = stack_top(stack);

	if (top && symbol_contains(top->symbol, ip) && top->kind != FRAME_UNTRACED)
		return top->symbol;
	if (!symbol)
		symbol = calls_symbol_at(calls, ip);
	if (!top)
		stack_push(stack, &cpu->now, symbol, FRAME_CALL, 0);
	else if (!symbol_is_same(top->symbol, symbol))
		go_on_in_function(calls, cpu, symbol);
	return symbol;
}

static const struct kernel_function *find_kernel_entry(const struct calls *calls,
						       const struct symbol *symbol)
{
	const struct kernel_function *row = kernel_function_find(
		names_get(calls->names, symbol->name), INTERRUPTS | KERNEL_PASSES);

	/* Of what only passes between user space and kernel, system calls have a token. */
	return row && (row->meaning & INTERRUPTS || row->token) ? row : NULL;
}

/* The CPU enters the kernel by itself, or by an instruction of user space. */
static void enter_kernel(struct calls *calls, struct cpu *cpu, const struct symbol *symbol,
			 uint64_t back)
{
	const struct kernel_function *row = find_kernel_entry(calls, symbol);
	struct stack *stack = &cpu->thread->stack;

	if (row && !(row->meaning & INTERRUPTS)) {
		calls_change_irqs(calls, cpu, IRQ_OFF, symbol);
		stack_push(stack, &cpu->now, symbol, FRAME_SYSCALL, back);
		return;
	}
	stack_push(stack, &cpu->now, symbol, FRAME_INTERRUPT, back);
	cpu_begin_interrupt(cpu, &calls->cpu_names, symbol->name,
			    row && row->meaning & KERNEL_INTERRUPT);
}

/* Where the CPU continues when it leaves a virtual machine: interrupts are off there, and were on
 * for the host. */
static void resume_after_guest(struct calls *calls, struct cpu *cpu, const struct symbol *symbol,
			       uint64_t ip)
{
	const struct stack *stack = &cpu->thread->stack;

	if (stack->nr && ip == symbol->start && stack_find_function(stack, symbol) == stack->nr)
		stack_replace(&cpu->thread->stack, &cpu->now, symbol);
	else
		calls_resync_stack(calls, cpu, symbol);
	calls_change_irqs(calls, cpu, IRQ_OFF, symbol);
}

/* Whether a function of the kernel begins at the address. */
static bool is_kernel_function_begin(const struct symbol *symbol, uint64_t ip)
{
	return symbol->kernel && (!symbol->end || ip == symbol->start || symbol->stubs);
}

void calls_begin_trace(struct calls *calls, struct cpu *cpu, uint64_t ip)
{
	const struct cpu_names *names = &calls->cpu_names;
	const struct symbol *symbol = calls_symbol_at(calls, ip);
	bool left = cpu->off && cpu->left && symbol->kernel;
	/* Elsewhere than at its begin, the entry into the kernel is lost. */
	bool lost = cpu->off ? left && !is_kernel_function_begin(symbol, ip) : cpu->ip;
	bool guest = cpu->off && cpu->untraced == UNTRACED_GUEST, gap = cpu->ip || cpu->off;
	bool begins = find_kernel_entry(calls, symbol) && is_kernel_function_begin(symbol, ip);

	if (gap) {
		calls->gaps += lost;
		cpu_add_trace_gap(cpu, names, cpu->ended,
				  lost ? names->lost[cpu->loss] : names->untraced[cpu->untraced]);
	}
	cpu->loss = LOSS_OF_TRACE;
	if (gap ? lost || !(left || guest) : !begins)
		cpu_irqs_lost(cpu, names, gap ? cpu->ended : cpu->now.at);
	if (begins) {
		calls_pop_frames(calls, cpu, 0);
		/* If the trace has left the kernel, there is nothing below. */
		stack_restart(&cpu->thread->stack, &cpu->now, left);
		enter_kernel(calls, cpu, symbol, 0);
	} else if (guest) {
		resume_after_guest(calls, cpu, symbol, ip);
	} else if (left && !lost) {
		restart_thread_stack(calls, cpu, symbol, true);
		calls_change_irqs(calls, cpu, IRQ_OFF, symbol);
	} else {
		calls_resync_stack(calls, cpu, symbol);
	}
	if (!(ip >> 63))
		calls_change_irqs(calls, cpu, IRQ_ON, symbol);
	cpu->off = cpu->left = false;
	cpu->ip = ip;
	cpu->sequential = false;
}

/* A return to a caller below the known frames: that frame existed since the begin of the stack. */
static void uncover_caller(struct calls *calls, struct cpu *cpu, const struct symbol *symbol)
{
	calls_pop_frames(calls, cpu, 0);
	stack_uncover(&cpu->thread->stack, &cpu->now, symbol);
}

static void on_function_return(struct calls *calls, struct cpu *cpu)
{
	struct stack *stack = &cpu->thread->stack;
	uint64_t to = calls->item->to;
	size_t i = stack_find_return(stack, to);
	const struct symbol *symbol;

	if (i < stack->nr) {
		calls_pop_frames(calls, cpu, i);
		return;
	}
	symbol = calls_symbol_at(calls, to);
	/* A return to the begin of a function is a jump, as in retpolines. */
	if (to == symbol->start) {
		if (!symbol_is_same(stack_top(stack)->symbol, symbol))
			stack_replace(stack, &cpu->now, symbol);
		return;
	}
	i = stack_find_function(stack, symbol);
	if (i < stack->nr)
		calls_pop_frames(calls, cpu, i + 1);
	else if (stack_is_in_interrupt(stack))
		stack_replace(stack, &cpu->now, symbol);
	else
		uncover_caller(calls, cpu, symbol);
}

/* From an interrupt, an exception or a system call: iret ends all of them. `to` 0: to untraced
 * code, which is user space. */
static void on_kernel_return(struct calls *calls, struct cpu *cpu, bool iret, uint64_t to)
{
	struct stack *stack = &cpu->thread->stack;
	const struct code_block *code = calls->item->code;
	size_t i = stack_find_entry(stack, iret, to);
	bool found = i < stack->nr, on = !(to >> 63), known;
	const struct kernel_function *row;

	/* sync_core() serialises the CPU by an iret to the next instruction. */
	if (iret && to && code && code->length && to == code->last + code->length &&
	    !stack_entry_returns(stack, to))
		return;
	row = stack->nr ? find_kernel_entry(calls, stack->frames[found ? i : 0].symbol) : NULL;
	/* A task that was switched out in an interrupt had them on. */
	known = found && (cpu->nesting || stack->frames[i].kind == FRAME_SYSCALL);
	on |= (row && row->meaning & KERNEL_INTERRUPT) || (found && !known);
	if (found)
		calls_pop_frames(calls, cpu, i);
	else if (to)
		uncover_caller(calls, cpu, calls_symbol_at(calls, to));
	else
		calls_pop_frames(calls, cpu, 0);
	if (on)
		calls_change_irqs(calls, cpu, IRQ_ON, &calls->unknown);
	else if (!known)
		cpu_irqs_lost(cpu, &calls->cpu_names, cpu->now.at);
}

static void on_function_call(struct calls *calls, struct cpu *cpu)
{
	struct stack *stack = &cpu->thread->stack;
	const struct decode_item *item = calls->item;
	const struct symbol *symbol = calls_symbol_at(calls, item->to);
	uint64_t back =
		item->code && item->code->length ? item->code->last + item->code->length : 0;
	enum frame_kind kind = item->end == DECODE_SYSCALL ? FRAME_SYSCALL : FRAME_CALL;

	/* A call within the function: to get an address, or to return elsewhere. */
	if (kind == FRAME_CALL && item->to != symbol->start &&
	    symbol->base != calls->unknown.base && symbol_is_same(stack_top(stack)->symbol, symbol))
		return;
	if (kind == FRAME_SYSCALL)
		calls_change_irqs(calls, cpu, IRQ_OFF, symbol);
	/* Limits frames without return. */
	if (stack->nr >= STACK_DEPTH_MAX)
		restart_thread_stack(calls, cpu, symbol, false);
	else
		stack_push(stack, &cpu->now, symbol, kind, back);
}

static void on_function_jump(struct calls *calls, struct cpu *cpu)
{
	const struct frame *top = stack_top(&cpu->thread->stack);
	uint64_t to = calls->item->to;
	const struct symbol *symbol;

	if (symbol_contains(top->symbol, to))
		return;
	symbol = calls_symbol_at(calls, to);
	if (!symbol_is_same(top->symbol, symbol))
		go_on_in_function(calls, cpu, symbol);
}

static void on_interrupt_entry(struct calls *calls, struct cpu *cpu, uint64_t from)
{
	const struct symbol *symbol = calls_symbol_at(calls, calls->item->to);
	const struct stack *stack = &cpu->thread->stack;

	if (stack->nr >= STACK_DEPTH_MAX)
		restart_thread_stack(calls, cpu, stack_top(stack)->symbol, false);
	enter_kernel(calls, cpu, symbol, from);
}

void calls_end_trace(struct calls *calls, struct cpu *cpu, bool async)
{
	const struct code_block *code = calls->item->code;
	struct stack *stack = &cpu->thread->stack;

	cpu->off = true;
	cpu->untraced = (uint8_t)calls->item->untraced;
	cpu->ended = cpu->now.at;
	if (code && code->branch == CODE_VM_ENTRY)
		cpu->untraced = UNTRACED_GUEST;
	/* An interrupt makes a virtual machine exit. */
	if (cpu->untraced == UNTRACED_GUEST)
		calls_change_irqs(calls, cpu, IRQ_ON, &calls->unknown);
	if (async || !code)
		return;
	switch ((enum code_branch)code->branch) {
	case CODE_SYSRET:
	case CODE_IRET:
		on_kernel_return(calls, cpu, code->branch == CODE_IRET, 0);
		cpu->left = true;
		break;
	case CODE_CALL:
	case CODE_SYSCALL:
	case CODE_INT:
		if (code->length)
			stack_push(stack, &cpu->now, &calls->unknown, FRAME_UNTRACED,
				   code->last + code->length);
		break;
	case CODE_RETURN:
		calls_pop_frames(calls, cpu, stack->nr - 1);
		break;
	case CODE_NO_BRANCH:
	case CODE_JUMP:
	case CODE_COND:
	case CODE_OTHER:
	case CODE_VM_ENTRY:
		break;
	}
}

void calls_take_branch(struct calls *calls, struct cpu *cpu, uint64_t from)
{
	const struct decode_item *item = calls->item;

	switch ((enum decode_end)item->end) {
	case DECODE_INTERRUPT:
		on_interrupt_entry(calls, cpu, from);
		break;
	case DECODE_IRET:
	case DECODE_SYSRET:
		on_kernel_return(calls, cpu, item->end == DECODE_IRET, item->to);
		break;
	case DECODE_RETURN:
		on_function_return(calls, cpu);
		break;
	case DECODE_CALL:
	case DECODE_SYSCALL:
		on_function_call(calls, cpu);
		break;
	default:
		on_function_jump(calls, cpu);
		break;
	}
}
