// SPDX-License-Identifier: GPL-2.0-only
/* What an item does to the stack of its thread and to the tracks of its CPU. */
#include "calls/calls_internal.h"
#include "code/code.h"

#define INSN_LENGTH_MAX 15
/* Longer than any code without a taken branch. */
#define STRAIGHT_MAX 65536

/* The current name of the item's thread; NULL: unknown. */
static const char *comm(struct calls *calls)
{
	const struct decode_item *item = calls->item;

	return decode_comm(calls->opts.decode, item->tid, item->time)
		       ?: item->tid ? NULL
				    : "swapper";
}

/* The new thread's code begins at the CPU's current moment. */
static void change_thread(struct calls *calls, struct cpu *cpu, struct thread *thread, uint64_t ip)
{
	struct thread *previous = cpu->thread;
	struct stack *stack = &thread->stack;
	const struct symbol *symbol;

	/* perf has no ID for a task that is exiting: the next such task may be another one. */
	if (previous && previous->tid < 0)
		calls_pop(calls, cpu, 0);
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
	symbol = calls_symbol_at(calls, ip);
	if (!symbol_is_same(stack_top(stack)->symbol, symbol))
		calls_resync(calls, cpu, symbol);
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
		calls_be_at(calls, cpu, ip, symbol);
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
		calls_begin_trace(calls, cpu, calls->item->to);
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
			calls_begin_trace(calls, cpu, first);
		symbol = calls_be_at(calls, cpu, first, symbol);
		calls_count(calls, cpu, whole ? item->insns : row->insns, i ? 0 : item->cycles);
		calls_irqs(calls, cpu, (enum irq_change)row->irqs, symbol);
		cpu->ip = row->last;
		cpu->sequential = true;
		cpu->ended = cpu->now.at;
	}
	return true;
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
		calls_begin_trace(calls, cpu, from);
	calls_be_at(calls, cpu, from, symbol);
	if (cpu->thread->stack.nr) {
		calls_count(calls, cpu, 0, code ? 0 : item->cycles);
		if (to)
			calls_take_branch(calls, cpu, from);
		else
			calls_end_trace(calls, cpu, async);
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
	    !is_in(stack_top(&cpu->thread->stack)->symbol, item->to, calls_symbol_of_next(calls)))
		return false;
	cpu->ip = item->to;
	cpu->sequential = false;
	return true;
}

static void add_error(struct calls *calls)
{
	const struct decode_item *item = calls->item;
	struct cpu *cpu = calls->cpus;

	while (cpu && cpu->number != item->cpu)
		cpu = cpu->next;
	if (cpu)
		cpu->loss = item->end == DECODE_NO_CODE ? LOSS_OF_CODE : LOSS_BY_ERROR;
	if (timeline_has(calls->timeline, item->time) && !calls->errors++)
		calls->first_error = *item;
}

void calls_add_item(struct calls *calls)
{
	const struct decode_item *item = calls->item;
	bool branches =
		item->end != DECODE_ON && item->end != DECODE_OVERFLOW && item->end != DECODE_LOST;
	bool ran = add_run(calls);
	struct cpu *cpu;

	if (item->kind == DECODE_ERROR)
		add_error(calls);
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
