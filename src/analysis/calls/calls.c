// SPDX-License-Identifier: GPL-2.0-only
/* Time and counts of CPUs, the window and the spike; what an item does to the stack of its thread
 * and to the tracks of its CPU. */
#include "calls/calls_internal.h"

#include "code/code.h"

int calls_new(struct calls **ret, const struct calls_opts *opts, struct timeline *timeline,
	      struct names *names)
{
	struct calls *calls = calloc(1, sizeof(*calls));
	int err;

	if (!calls)
		return -ENOMEM;
	calls->opts = *opts;
	calls->timeline = timeline;
	calls->names = names;
	calls->unknown.name = calls->unknown.base = names_add(names, "[unknown]");
	calls->threads.names = names;
	err = stack_env_new(&calls->threads.env, timeline, names);
	if (!err)
		err = cpu_names_new(&calls->cpu_names, names);
	if (err)
		calls_free(calls);
	else
		*ret = calls;
	return err;
}

void calls_free(struct calls *calls)
{
	struct cpu *next_cpu;

	if (!calls)
		return;
	threads_release(&calls->threads);
	for (struct cpu *cpu = calls->cpus; cpu; cpu = next_cpu) {
		next_cpu = cpu->next;
		free(cpu);
	}
	free(calls);
}

/* NULL if out of memory. */
static struct cpu *get_calls_cpu(struct calls *calls, int number)
{
	struct cpu *cpu = calls->cpu;

	if (cpu && cpu->number == number)
		return cpu;
	cpu = calls->cpus;
	while (cpu && cpu->number != number)
		cpu = cpu->next;
	calls->cpu = cpu;
	if (cpu)
		return cpu;
	cpu = cpu_new(calls->timeline, calls->names, &calls->cpu_names, number);
	if (!cpu) {
		calls->err = -ENOMEM;
		return NULL;
	}
	cpu->next = calls->cpus;
	calls->cpus = cpu;
	return cpu;
}

/* Of the CPU on the timeline's axis. */
static uint64_t position_on_axis(const struct calls *calls, const struct cpu *cpu)
{
	switch (calls->opts.axis) {
	case CALLS_CYCLES:
		return cpu->counts.cycles - cpu->origin.cycles;
	case CALLS_INSNS:
		return cpu->counts.insns - cpu->origin.insns;
	case CALLS_TIME:
		break;
	}
	return cpu->now.time;
}

static void move_cpu_to_time(const struct calls *calls, struct cpu *cpu, uint64_t time)
{
	cpu->now.time = time;
	cpu->now.at = position_on_axis(calls, cpu);
}

static void advance_timeline(struct calls *calls, uint64_t time)
{
	if (!timeline_advance(calls->timeline, time))
		return;
	/* Counting begins where the window opens. */
	for (struct cpu *cpu = calls->cpus; cpu; cpu = cpu->next) {
		cpu->origin = cpu->counts;
		cpu->now.at = position_on_axis(calls, cpu);
	}
	if (calls->opts.axis != CALLS_TIME)
		calls->expected_at = 0;
}

static void mark_spike_on_cpu(struct calls *calls, struct cpu *cpu, uint64_t time)
{
	const struct calls_opts *opts = &calls->opts;
	bool counted = opts->axis != CALLS_TIME;
	struct moment now = cpu->now;

	if (calls->has_spike || !opts->spike ||
	    (opts->spike_cpu >= 0 && cpu->number != opts->spike_cpu))
		return;
	if (!calls->has_expected && time >= opts->expected) {
		calls->has_expected = true;
		calls->expected_at = counted ? now.at : opts->expected;
	}
	if (time < opts->spike)
		return;
	calls->has_spike = true;
	advance_timeline(calls, opts->spike);
	if (!counted)
		cpu->now.at = opts->spike;
	cpu_add_spike_mark(cpu, &calls->cpu_names, calls->expected_at, opts->latency_ns);
	cpu->now = now;
}

/* Until the spike, or the next edge of the window. */
static uint64_t quiet_period_end(const struct calls *calls)
{
	const struct calls_opts *opts = &calls->opts;
	uint64_t quiet = timeline_quiet_until(calls->timeline);
	uint64_t next = calls->has_expected ? opts->spike : opts->expected;

	if (opts->axis != CALLS_TIME)
		return 0;
	return opts->spike && !calls->has_spike && next <= quiet ? (next ?: 1) - 1 : quiet;
}

/* Advances the time: the window may open or end, and the spike may pass. */
static void advance_cpu_time(struct calls *calls, struct cpu *cpu, uint64_t time)
{
	if (time > calls->last)
		calls->last = time;
	mark_spike_on_cpu(calls, cpu, time);
	advance_timeline(calls, time);
	calls->quiet = quiet_period_end(calls);
	move_cpu_to_time(calls, cpu, time);
}

static void count_executed_code(struct calls *calls, struct cpu *cpu, uint64_t insns,
				uint64_t cycles)
{
	struct counts *counts = &cpu->thread->stack.counts;

	counts->insns += insns;
	counts->cycles += cycles;
	cpu->counts.insns += insns;
	cpu->counts.cycles += cycles;
	cpu->now.at = position_on_axis(calls, cpu);
}

uint64_t calls_errors(const struct calls *calls, const struct decode_item **first)
{
	*first = &calls->first_error;
	return calls->errors;
}

int calls_finish(struct calls *calls, uint64_t *at, uint64_t *gaps)
{
	struct moment end = { .time = calls->last, .at = calls->last };

	for (struct cpu *cpu = calls->cpus; cpu; cpu = cpu->next) {
		cpu->now.time = calls->last;
		cpu->now.at = position_on_axis(calls, cpu);
		/* After the end of the trace. */
		mark_spike_on_cpu(calls, cpu, UINT64_MAX);
	}
	if (calls->opts.axis != CALLS_TIME) {
		end.at = 0;
		for (struct cpu *cpu = calls->cpus; cpu; cpu = cpu->next)
			end.at = cpu->now.at > end.at ? cpu->now.at : end.at;
	}
	for (struct thread *thread = calls->threads.first; thread; thread = thread->next)
		stack_finish(&thread->stack, &end);
	*at = end.at;
	*gaps = calls->gaps;
	return calls->err ?: calls->threads.env.err;
}

#define INSN_LENGTH_MAX 15
/* Longer than any code without a taken branch. */
#define STRAIGHT_MAX 65536

/* The current name of the item's thread; NULL: unknown. */
static const char *item_thread_name(struct calls *calls)
{
	const struct decode_item *item = calls->item;

	return decode_thread_name(calls->opts.decode, item->tid, item->time)
		       ?: item->tid ? NULL
				    : "swapper";
}

/* The new thread's code begins at the CPU's current moment. */
static void switch_cpu_thread(struct calls *calls, struct cpu *cpu, struct thread *thread,
			      uint64_t ip)
{
	struct thread *previous = cpu->thread;
	struct stack *stack = &thread->stack;
	const struct symbol *symbol;

	/* perf has no ID for a task that is exiting: the next such task may be another one. */
	if (previous && previous->tid < 0)
		calls_pop_frames(calls, cpu, 0);
	if (previous)
		stack_run_on(&previous->stack, &cpu->now, NULL);
	if (thread->tid < 0)
		stack_restart(stack, &cpu->now, false);
	cpu_switch_thread(cpu, &calls->cpu_names, thread);
	stack_run_on(stack, &cpu->now, cpu->tracks[TRACK_CODE]);
	if (previous)
		timeline_switch(calls->timeline, cpu->now.at, cpu->number, previous->stack.track,
				stack->track);
	if (!stack->nr || !ip)
		return;
	/* If the thread is not where it was, it has run elsewhere. */
	symbol = calls_symbol_at(calls, ip);
	if (!symbol_is_same(stack_top(stack)->symbol, symbol))
		calls_resync_stack(calls, cpu, symbol);
}

/* Advances to the item's time and thread, at an address. Code after a branch begins at the time of
 * the branch; the item has the time when it ended. */
static bool advance_to_item(struct calls *calls, struct cpu *cpu, uint64_t ip, bool continues,
			    const struct symbol *symbol)
{
	const struct decode_item *item = calls->item;
	uint64_t before = cpu->now.time;
	struct thread *thread;

	advance_cpu_time(calls, cpu, item->time);
	if (cpu->thread && cpu->thread->tid == item->tid)
		return true;
	if (continues)
		move_cpu_to_time(calls, cpu, before);
	thread = threads_find_or_add(&calls->threads, cpu, item->pid, item->tid,
				     item_thread_name(calls));
	if (!thread) {
		calls->err = -ENOMEM;
		return false;
	}
	switch_cpu_thread(calls, cpu, thread, ip);
	if (continues)
		calls_arrive_at(calls, cpu, ip, symbol);
	move_cpu_to_time(calls, cpu, item->time);
	return true;
}

/* At the begin of the trace, and in user space again: the thread may have been renamed. */
static void refresh_thread_name(struct calls *calls, struct cpu *cpu)
{
	if (thread_rename(cpu->thread, calls->names, item_thread_name(calls)))
		cpu_rename_task(cpu, &calls->cpu_names);
}

static void add_trace_begin(struct calls *calls, struct cpu *cpu)
{
	if (!advance_to_item(calls, cpu, calls->item->to, false, NULL))
		return;
	refresh_thread_name(calls, cpu);
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

/* Executes the block or run. While the CPU waits for an interrupt, none is held up, even if they
 * are off. */
static bool add_executed_rows(struct calls *calls, struct cpu *cpu)
{
	const struct decode_item *item = calls->item;
	const struct code_block *code = item->code;
	bool off = code->waits && cpu->irqs == IRQS_OFF;

	if (off)
		cpu_change_irqs(cpu, &calls->cpu_names, IRQ_ON, 0);
	for (uint32_t i = 0; i < code->nr_rows; i++) {
		const struct code_row *row = &code->rows[i];
		const struct symbol *symbol = code_named_symbol(row->symbol, calls->names);
		/* A run has one row, of its last block. */
		bool whole = code->nr_rows == 1;
		uint64_t first = whole ? item->first : row->first;
		bool continues = row_continues(cpu, first);

		if (!advance_to_item(calls, cpu, first, continues, symbol))
			return false;
		if (!continues)
			calls_begin_trace(calls, cpu, first);
		symbol = calls_arrive_at(calls, cpu, first, symbol);
		stack_set_chain(&cpu->thread->stack, &cpu->now, row->chain, calls->names);
		count_executed_code(calls, cpu, whole ? item->insns : row->insns,
				    i ? 0 : item->cycles);
		off &= row->irqs == IRQ_SAME;
		calls_change_irqs(calls, cpu, off ? IRQ_OFF : (enum irq_change)row->irqs, symbol);
		cpu->ip = row->last;
		cpu->sequential = true;
		cpu->ended = cpu->now.at;
	}
	return true;
}

/* Whether the item ends with a return to user space. */
static bool item_leaves_kernel(const struct decode_item *item, uint64_t to)
{
	uint8_t branch =
		item->end == DECODE_DISABLED && item->code ? item->code->branch : CODE_NO_BRANCH;

	return (item->end == DECODE_SYSRET || item->end == DECODE_IRET || branch == CODE_SYSRET ||
		branch == CODE_IRET) &&
	       !(to >> 63);
}

/* The branch or interrupt at the end of the item, or the end of the trace. */
static void add_item_end(struct calls *calls, struct cpu *cpu)
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
		symbol = code_named_symbol(code->rows[code->nr_rows - 1].symbol, calls->names);
	}
	continues = cpu->ip && !cpu->off && from >= cpu->ip && from - cpu->ip < STRAIGHT_MAX;
	if (!from || !advance_to_item(calls, cpu, from, continues, symbol))
		return;
	if (item_leaves_kernel(item, to))
		refresh_thread_name(calls, cpu);
	if (!continues)
		calls_begin_trace(calls, cpu, from);
	calls_arrive_at(calls, cpu, from, symbol);
	if (cpu->thread->stack.nr) {
		count_executed_code(calls, cpu, 0, code ? 0 : item->cycles);
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
static bool symbol_is_at(const struct symbol *symbol, uint64_t ip, const struct symbol *of_ip)
{
	return of_ip == symbol || symbol_contains(symbol, ip);
}

/* A fast path for a run within one function. False: not applicable, and nothing was done. */
static bool add_run_quickly(struct calls *calls)
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
	    !symbol_is_at(top->symbol, item->first, item->code->symbol))
		return false;
	if (item->time > calls->last)
		calls->last = item->time;
	cpu->now.time = cpu->ended = item->time;
	count_executed_code(calls, cpu, item->insns, item->cycles);
	cpu->ip = item->code->last;
	cpu->sequential = true;
	return true;
}

/* The same for the jump or instruction after a run. */
static bool stays_in_function(struct calls *calls)
{
	const struct decode_item *item = calls->item;
	struct cpu *cpu = calls->cpu;

	if (item->end > DECODE_JUMP || !symbol_is_at(stack_top(&cpu->thread->stack)->symbol,
						     item->to, calls_symbol_of_next(calls)))
		return false;
	cpu->ip = item->to;
	cpu->sequential = false;
	return true;
}

static void add_decode_error(struct calls *calls)
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

void calls_add(struct calls *calls, const struct decode_item *items, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct decode_item *item = &items[i];
		bool branches = item->end != DECODE_ON && item->end != DECODE_OVERFLOW &&
				item->end != DECODE_LOST;
		struct cpu *cpu;
		bool ran;

		calls->item = item;
		calls->next = i + 1 < nr ? &items[i + 1] : NULL;
		ran = add_run_quickly(calls);
		if (item->kind == DECODE_ERROR)
			add_decode_error(calls);
		/* A loss shows when the CPU's trace continues. */
		if (item->kind == DECODE_ERROR || (ran && stays_in_function(calls)) ||
		    (item->kind == DECODE_BLOCK && !item->code && !branches))
			continue;
		cpu = get_calls_cpu(calls, item->cpu);
		if (!cpu || calls->err)
			continue;
		if (item->kind == DECODE_BEGIN)
			add_trace_begin(calls, cpu);
		else if ((ran || !item->code || add_executed_rows(calls, cpu)) && branches)
			add_item_end(calls, cpu);
	}
}
