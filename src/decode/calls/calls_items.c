// SPDX-License-Identifier: GPL-2.0-only
/* What an item does to the stack of its thread and to the tracks of its CPU. */
#include "calls/calls_internal.h"
#include "code/code.h"
#include "kernel_function.h"

#define INSN_LENGTH_MAX 15
/* Longer than any code without a taken branch. */
#define STRAIGHT_MAX 65536
/* Entries that are no system call, or of which that is unknown. */
#define INTERRUPTS (KERNEL_INTERRUPT | KERNEL_NMI | KERNEL_EXCEPTION | KERNEL_EVENT)

/* The symbol of the place where execution continues; NULL: unknown. */
static const struct symbol *symbol_of_next(const struct calls *calls)
{
	const struct decode_item *item = calls->item, *next = calls->next;

	if (!next || next->kind != DECODE_BLOCK || !next->code || next->first != item->to ||
	    next->cpu != item->cpu)
		return NULL;
	return next->code->rows->symbol;
}

static const struct symbol *symbol_at(struct calls *calls, uint64_t ip)
{
	const struct symbol *symbol = NULL;

	/* Usually the address where execution continued; a lookup takes longer. */
	if (ip == calls->item->to)
		symbol = symbol_of_next(calls);
	return code_named(symbol ?: decode_symbol(calls->opts.decode, calls->item, ip),
			  calls->names);
}

/* The current name of the item's thread; NULL: unknown. */
static const char *comm(struct calls *calls)
{
	const struct decode_item *item = calls->item;

	return decode_comm(calls->opts.decode, item->tid, item->time)
		       ?: item->tid ? NULL
				    : "swapper";
}

static void change_irqs(struct calls *calls, struct cpu *cpu, enum irq_change change,
			const struct symbol *by)
{
	cpu_irqs(cpu, &calls->cpu_names, change, by->name);
}

/* Interrupts on the CPU's track end with their frames. */
static void pop(struct calls *calls, struct cpu *cpu, size_t nr)
{
	struct stack *stack = &cpu->thread->stack;

	while (stack->nr > nr) {
		bool interrupt = stack_top(stack)->kind == FRAME_INTERRUPT;

		stack_pop(stack, &cpu->now, stack->nr - 1);
		if (interrupt)
			cpu_interrupt_end(
				cpu, &calls->cpu_names,
				(stack->nr ? stack_top(stack)->symbol : &calls->unknown)->name);
	}
}

/* Forgets the thread's stack: the callers are unknown. */
static void restart(struct calls *calls, struct cpu *cpu, const struct symbol *symbol, bool whole)
{
	struct stack *stack = &cpu->thread->stack;

	pop(calls, cpu, 0);
	stack_restart(stack, &cpu->now, whole);
	stack_push(stack, &cpu->now, symbol, FRAME_CALL, 0);
}

/* Execution continues at an address, for an unknown reason, or begins there. */
static void resync(struct calls *calls, struct cpu *cpu, const struct symbol *symbol)
{
	struct stack *stack = &cpu->thread->stack;

	for (size_t i = stack->nr; i--;) {
		if (stack->frames[i].kind != FRAME_UNTRACED &&
		    symbol_is_same(stack->frames[i].symbol, symbol)) {
			pop(calls, cpu, i + 1);
			return;
		}
	}
	restart(calls, cpu, symbol, false);
}

/* Execution is at an address, which should be in the innermost function. If not, execution ran from
 * one function into the next. symbol: of the address; NULL: not looked up yet. */
static const struct symbol *be_at(struct calls *calls, struct cpu *cpu, uint64_t ip,
				  const struct symbol *symbol)
{
	struct stack *stack = &cpu->thread->stack;
	struct frame *top = stack_top(stack);

	if (top && symbol_has(top->symbol, ip) && top->kind != FRAME_UNTRACED)
		return top->symbol;
	if (!symbol)
		symbol = symbol_at(calls, ip);
	if (!top)
		stack_push(stack, &cpu->now, symbol, FRAME_CALL, 0);
	else if (!symbol_is_same(top->symbol, symbol))
		stack_replace(stack, &cpu->now, symbol);
	return symbol;
}

/* The new thread's code begins at the CPU's current moment. */
static void change_thread(struct calls *calls, struct cpu *cpu, struct thread *thread, uint64_t ip)
{
	struct thread *previous = cpu->thread;
	struct stack *stack = &thread->stack;
	const struct symbol *symbol;

	/* perf has no ID for a task that is exiting: the next such task may be another one. */
	if (previous && previous->tid < 0)
		pop(calls, cpu, 0);
	if (previous)
		stack_run_on(&previous->stack, &cpu->now, NULL);
	if (thread->tid < 0)
		stack_restart(stack, &cpu->now, false);
	cpu_switch(cpu, &calls->cpu_names, thread);
	stack_run_on(stack, &cpu->now, cpu->tracks[TRACK_CODE]);
	if (previous)
		timeline_switch(calls->timeline, cpu->now.at, cpu->number, previous->stack.track,
				stack->track);
	if (!stack->nr || !ip)
		return;
	/* If the thread is not where it was, it has run elsewhere. */
	symbol = symbol_at(calls, ip);
	if (!symbol_is_same(stack_top(stack)->symbol, symbol))
		resync(calls, cpu, symbol);
}

static const struct kernel_function *find_entry(const struct calls *calls,
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
	const struct kernel_function *row = find_entry(calls, symbol);
	struct stack *stack = &cpu->thread->stack;

	if (row && !(row->meaning & INTERRUPTS)) {
		change_irqs(calls, cpu, IRQ_OFF, symbol);
		stack_push(stack, &cpu->now, symbol, FRAME_SYSCALL, back);
		return;
	}
	stack_push(stack, &cpu->now, symbol, FRAME_INTERRUPT, back);
	cpu_interrupt(cpu, &calls->cpu_names, symbol->name, row && row->meaning & KERNEL_INTERRUPT);
}

/* Where the CPU continues when it leaves a virtual machine: interrupts are off there, and were on
 * for the host. */
static void leave_guest(struct calls *calls, struct cpu *cpu, const struct symbol *symbol,
			uint64_t ip)
{
	const struct stack *stack = &cpu->thread->stack;

	if (stack->nr && ip == symbol->start && stack_find_function(stack, symbol) == stack->nr)
		stack_replace(&cpu->thread->stack, &cpu->now, symbol);
	else
		resync(calls, cpu, symbol);
	change_irqs(calls, cpu, IRQ_OFF, symbol);
}

/* Whether a function of the kernel begins at the address. */
static bool is_begin(const struct symbol *symbol, uint64_t ip)
{
	return symbol->kernel && (!symbol->end || ip == symbol->start || symbol->stubs);
}

/* The trace begins, or continues after a gap. */
static void trace_begins(struct calls *calls, struct cpu *cpu, uint64_t ip)
{
	const struct cpu_names *names = &calls->cpu_names;
	const struct symbol *symbol = symbol_at(calls, ip);
	bool left = cpu->off && cpu->left && symbol->kernel;
	/* Elsewhere than at its begin, the entry into the kernel is lost. */
	bool lost = cpu->off ? left && !is_begin(symbol, ip) : cpu->ip;
	bool guest = cpu->off && cpu->untraced == UNTRACED_GUEST, gap = cpu->ip || cpu->off;
	bool begins = find_entry(calls, symbol) && is_begin(symbol, ip);

	if (gap) {
		calls->gaps += lost;
		cpu_gap(cpu, names, cpu->ended,
			lost ? names->lost : names->untraced[cpu->untraced]);
	}
	if (gap ? lost || !(left || guest) : !begins)
		cpu_irqs_lost(cpu, names, gap ? cpu->ended : cpu->now.at);
	if (begins) {
		pop(calls, cpu, 0);
		/* If the trace has left the kernel, there is nothing below. */
		stack_restart(&cpu->thread->stack, &cpu->now, left);
		enter_kernel(calls, cpu, symbol, 0);
	} else if (guest) {
		leave_guest(calls, cpu, symbol, ip);
	} else if (left && !lost) {
		restart(calls, cpu, symbol, true);
		change_irqs(calls, cpu, IRQ_OFF, symbol);
	} else {
		resync(calls, cpu, symbol);
	}
	if (!(ip >> 63))
		change_irqs(calls, cpu, IRQ_ON, symbol);
	cpu->off = cpu->left = false;
	cpu->ip = ip;
	cpu->sequential = false;
}

/* Advances to the item's time and thread, at an address. Code after a branch begins at the time of
 * the branch; the item has the time when it ended. */
static bool enter(struct calls *calls, struct cpu *cpu, uint64_t ip, bool continues,
		  const struct symbol *symbol)
{
	const struct decode_item *item = calls->item;
	uint64_t before = cpu->now.time;
	struct thread *thread;

	calls_advance(calls, cpu, item->time);
	if (cpu->thread && cpu->thread->tid == item->tid)
		return true;
	if (continues)
		calls_move(calls, cpu, before);
	thread = threads_get(&calls->threads, cpu, item->pid, item->tid, comm(calls));
	if (!thread) {
		calls->r = -ENOMEM;
		return false;
	}
	change_thread(calls, cpu, thread, ip);
	if (continues)
		be_at(calls, cpu, ip, symbol);
	calls_move(calls, cpu, item->time);
	return true;
}

/* At the begin of the trace, and in user space again: the thread may have been renamed. */
static void rename_thread(struct calls *calls, struct cpu *cpu)
{
	if (thread_rename(cpu->thread, calls->names, comm(calls)))
		cpu_rename(cpu, &calls->cpu_names);
}

static void add_begin(struct calls *calls, struct cpu *cpu)
{
	if (!enter(calls, cpu, calls->item->to, false, NULL))
		return;
	rename_thread(calls, cpu);
	if (calls->item->to)
		trace_begins(calls, cpu, calls->item->to);
}

/* Whether execution continues where expected. Between branches, each instruction follows the
 * previous one. */
static bool row_continues(const struct cpu *cpu, uint64_t ip)
{
	if (!cpu->ip || cpu->off)
		return false;
	return cpu->sequential ? ip > cpu->ip && ip - cpu->ip <= INSN_LENGTH_MAX : ip == cpu->ip;
}

/* Executes the block or run. */
static bool add_rows(struct calls *calls, struct cpu *cpu)
{
	const struct decode_item *item = calls->item;
	const struct code_block *code = item->code;

	for (uint32_t i = 0; i < code->nr_rows; i++) {
		const struct code_row *row = &code->rows[i];
		const struct symbol *symbol = code_named(row->symbol, calls->names);
		/* A run has one row, of its last block. */
		bool whole = code->nr_rows == 1;
		uint64_t first = whole ? item->first : row->first;
		bool continues = row_continues(cpu, first);

		if (!enter(calls, cpu, first, continues, symbol))
			return false;
		if (!continues)
			trace_begins(calls, cpu, first);
		symbol = be_at(calls, cpu, first, symbol);
		calls_count(calls, cpu, whole ? item->insns : row->insns, i ? 0 : item->cycles);
		change_irqs(calls, cpu, (enum irq_change)row->irqs, symbol);
		cpu->ip = row->last;
		cpu->sequential = true;
		cpu->ended = cpu->now.at;
	}
	return true;
}

/* A return to a caller below the known frames: that frame existed since the begin of the stack. */
static void uncover(struct calls *calls, struct cpu *cpu, const struct symbol *symbol)
{
	pop(calls, cpu, 0);
	stack_uncover(&cpu->thread->stack, &cpu->now, symbol);
}

static void on_return(struct calls *calls, struct cpu *cpu)
{
	struct stack *stack = &cpu->thread->stack;
	uint64_t to = calls->item->to;
	size_t i = stack_find_return(stack, to);
	const struct symbol *symbol;

	if (i < stack->nr) {
		pop(calls, cpu, i);
		return;
	}
	symbol = symbol_at(calls, to);
	/* A return to the begin of a function is a jump, as in retpolines. */
	if (to == symbol->start) {
		if (!symbol_is_same(stack_top(stack)->symbol, symbol))
			stack_replace(stack, &cpu->now, symbol);
		return;
	}
	i = stack_find_function(stack, symbol);
	if (i < stack->nr)
		pop(calls, cpu, i + 1);
	else if (stack_is_in_interrupt(stack))
		stack_replace(stack, &cpu->now, symbol);
	else
		uncover(calls, cpu, symbol);
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
	row = stack->nr ? find_entry(calls, stack->frames[found ? i : 0].symbol) : NULL;
	/* A task that was switched out in an interrupt had them on. */
	known = found && (cpu->nesting || stack->frames[i].kind == FRAME_SYSCALL);
	on |= (row && row->meaning & KERNEL_INTERRUPT) || (found && !known);
	if (found)
		pop(calls, cpu, i);
	else if (to)
		uncover(calls, cpu, symbol_at(calls, to));
	else
		pop(calls, cpu, 0);
	if (on)
		change_irqs(calls, cpu, IRQ_ON, &calls->unknown);
	else if (!known)
		cpu_irqs_lost(cpu, &calls->cpu_names, cpu->now.at);
}

static void on_call(struct calls *calls, struct cpu *cpu)
{
	struct stack *stack = &cpu->thread->stack;
	const struct decode_item *item = calls->item;
	const struct symbol *symbol = symbol_at(calls, item->to);
	uint64_t back =
		item->code && item->code->length ? item->code->last + item->code->length : 0;
	enum frame_kind kind = item->end == DECODE_SYSCALL ? FRAME_SYSCALL : FRAME_CALL;

	/* A call within the function: to get an address, or to return elsewhere. */
	if (kind == FRAME_CALL && item->to != symbol->start &&
	    symbol->base != calls->unknown.base && symbol_is_same(stack_top(stack)->symbol, symbol))
		return;
	if (kind == FRAME_SYSCALL)
		change_irqs(calls, cpu, IRQ_OFF, symbol);
	/* Limits frames without return. */
	if (stack->nr >= STACK_DEPTH_MAX)
		restart(calls, cpu, symbol, false);
	else
		stack_push(stack, &cpu->now, symbol, kind, back);
}

static void on_jump(struct calls *calls, struct cpu *cpu)
{
	struct stack *stack = &cpu->thread->stack;
	const struct frame *top = stack_top(stack);
	uint64_t to = calls->item->to;
	const struct symbol *symbol;

	if (symbol_has(top->symbol, to))
		return;
	symbol = symbol_at(calls, to);
	if (!symbol_is_same(top->symbol, symbol))
		stack_replace(stack, &cpu->now, symbol);
}

static void on_interrupt(struct calls *calls, struct cpu *cpu, uint64_t from)
{
	const struct symbol *symbol = symbol_at(calls, calls->item->to);
	const struct stack *stack = &cpu->thread->stack;

	if (stack->nr >= STACK_DEPTH_MAX)
		restart(calls, cpu, stack_top(stack)->symbol, false);
	enter_kernel(calls, cpu, symbol, from);
}

static void trace_ends(struct calls *calls, struct cpu *cpu, bool async)
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
		change_irqs(calls, cpu, IRQ_ON, &calls->unknown);
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
		pop(calls, cpu, stack->nr - 1);
		break;
	case CODE_NO_BRANCH:
	case CODE_JUMP:
	case CODE_COND:
	case CODE_OTHER:
	case CODE_VM_ENTRY:
		break;
	}
}

static void take_branch(struct calls *calls, struct cpu *cpu, uint64_t from)
{
	const struct decode_item *item = calls->item;

	switch ((enum decode_end)item->end) {
	case DECODE_INTERRUPT:
		on_interrupt(calls, cpu, from);
		break;
	case DECODE_IRET:
	case DECODE_SYSRET:
		on_kernel_return(calls, cpu, item->end == DECODE_IRET, item->to);
		break;
	case DECODE_RETURN:
		on_return(calls, cpu);
		break;
	case DECODE_CALL:
	case DECODE_SYSCALL:
		on_call(calls, cpu);
		break;
	default:
		on_jump(calls, cpu);
		break;
	}
}

/* Whether the item ends with a return to user space. */
static bool leaves_kernel(const struct decode_item *item, uint64_t to)
{
	uint8_t branch =
		item->end == DECODE_DISABLED && item->code ? item->code->branch : CODE_NO_BRANCH;

	return (item->end == DECODE_SYSRET || item->end == DECODE_IRET || branch == CODE_SYSRET ||
		branch == CODE_IRET) &&
	       !(to >> 63);
}

/* The branch or interrupt at the end of the item, or the end of the trace. */
static void add_end(struct calls *calls, struct cpu *cpu)
{
	const struct decode_item *item = calls->item;
	const struct code_block *code = item->code;
	bool ends = item->end == DECODE_DISABLED || item->end == DECODE_ASYNC_DISABLED;
	bool async = item->end == DECODE_INTERRUPT || item->end == DECODE_TX_ABORT ||
		     item->end == DECODE_ASYNC_DISABLED;
	uint64_t to = ends ? 0 : item->to, from = item->from ?: cpu->off ? 0 : cpu->ip;
	const struct symbol *symbol = NULL;
	bool continues;

	if (code && !async) {
		from = code->last;
		symbol = code_named(code->rows[code->nr_rows - 1].symbol, calls->names);
	}
	continues = cpu->ip && !cpu->off && from >= cpu->ip && from - cpu->ip < STRAIGHT_MAX;
	if (!from || !enter(calls, cpu, from, continues, symbol))
		return;
	if (leaves_kernel(item, to))
		rename_thread(calls, cpu);
	if (!continues)
		trace_begins(calls, cpu, from);
	be_at(calls, cpu, from, symbol);
	if (cpu->thread->stack.nr) {
		calls_count(calls, cpu, 0, code ? 0 : item->cycles);
		if (to)
			take_branch(calls, cpu, from);
		else
			trace_ends(calls, cpu, async);
		cpu->ip = to;
		cpu->sequential = false;
	}
	cpu->ended = cpu->now.at;
}

/* Code without symbols has one symbol per file, without addresses. */
static bool is_in(const struct symbol *symbol, uint64_t ip, const struct symbol *of_ip)
{
	return of_ip == symbol || symbol_has(symbol, ip);
}

/* A fast path for a run within one function. False: not applicable, and nothing was done. */
static bool add_run(struct calls *calls)
{
	const struct decode_item *item = calls->item;
	struct cpu *cpu = calls->cpu;
	const struct frame *top;

	if (item->kind != DECODE_BLOCK || !item->code || !item->code->symbol || !cpu ||
	    cpu->number != item->cpu || !cpu->thread || cpu->thread->tid != item->tid ||
	    cpu->ip != item->first || cpu->sequential || cpu->off || item->time > calls->quiet)
		return false;
	top = stack_top(&cpu->thread->stack);
	if (!top || top->kind == FRAME_UNTRACED ||
	    !is_in(top->symbol, item->first, item->code->symbol))
		return false;
	if (item->time > calls->last)
		calls->last = item->time;
	cpu->now.time = cpu->ended = item->time;
	calls_count(calls, cpu, item->insns, item->cycles);
	cpu->ip = item->code->last;
	cpu->sequential = true;
	return true;
}

/* The same for the jump or instruction after a run. */
static bool stays(struct calls *calls)
{
	const struct decode_item *item = calls->item;
	struct cpu *cpu = calls->cpu;

	if (item->end > DECODE_JUMP ||
	    !is_in(stack_top(&cpu->thread->stack)->symbol, item->to, symbol_of_next(calls)))
		return false;
	cpu->ip = item->to;
	cpu->sequential = false;
	return true;
}

void calls_add_item(struct calls *calls)
{
	const struct decode_item *item = calls->item;
	bool branches =
		item->end != DECODE_ON && item->end != DECODE_OVERFLOW && item->end != DECODE_LOST;
	bool ran = add_run(calls);
	struct cpu *cpu;

	/* A loss shows when the CPU's trace continues. */
	if (item->kind == DECODE_ERROR || (ran && stays(calls)) ||
	    (item->kind == DECODE_BLOCK && !item->code && !branches))
		return;
	cpu = calls_cpu(calls, item->cpu);
	if (!cpu || calls->r)
		return;
	if (item->kind == DECODE_BEGIN)
		add_begin(calls, cpu);
	else if ((ran || !item->code || add_rows(calls, cpu)) && branches)
		add_end(calls, cpu);
}
