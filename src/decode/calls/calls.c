// SPDX-License-Identifier: GPL-2.0-only
#include "calls/calls_internal.h"

#include "blocks/decode.h"
#include "code/code.h"

#define INSN_LENGTH_MAX 15

int calls_new(struct calls **ret, const struct calls_opts *opts, struct timeline *timeline,
	      struct names *names)
{
	struct calls *calls = calloc(1, sizeof(*calls));
	int r;

	if (!calls)
		return -ENOMEM;
	calls->opts = *opts;
	calls->timeline = timeline;
	calls->names = names;
	calls->unknown.name = calls->unknown.base = names_add(names, "[unknown]");
	r = stack_env_new(&calls->env, timeline, names);
	if (!r)
		r = cpu_names_new(&calls->cpu_names, names);
	if (r)
		calls_free(calls);
	else
		*ret = calls;
	return r;
}

void calls_free(struct calls *calls)
{
	struct cpu *next_cpu;

	if (!calls)
		return;
	calls_free_threads(calls);
	for (struct cpu *cpu = calls->cpus; cpu; cpu = next_cpu) {
		next_cpu = cpu->next;
		free(cpu);
	}
	free(calls);
}

static struct cpu *find_cpu(struct calls *calls, int number)
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
		calls->r = -ENOMEM;
		return NULL;
	}
	cpu->next = calls->cpus;
	calls->cpus = cpu;
	return cpu;
}

static const struct symbol *resolve(struct calls *calls, const struct calls_event *event,
				    uint64_t ip)
{
	return calls->opts.resolve(calls->opts.arg, event, ip) ?: &calls->unknown;
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

/* Execution continues at an address, for an unknown reason. */
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
 * one function into the next. */
static const struct symbol *be_at(struct calls *calls, struct cpu *cpu,
				  const struct calls_event *event, uint64_t ip)
{
	struct stack *stack = &cpu->thread->stack;
	struct frame *top = stack_top(stack);
	const struct symbol *symbol;

	if (top && symbol_has(top->symbol, ip) && top->kind != FRAME_UNTRACED)
		return top->symbol;
	symbol = event->symbol ?: resolve(calls, event, ip);
	if (!top)
		stack_push(stack, &cpu->now, symbol, FRAME_CALL, 0);
	else if (!symbol_is_same(top->symbol, symbol))
		stack_replace(stack, &cpu->now, symbol);
	return symbol;
}

/* The new thread's code begins at the CPU's current moment. */
static void change_thread(struct calls *calls, struct cpu *cpu, const struct calls_event *event,
			  struct thread *thread)
{
	struct thread *previous = cpu->thread;
	struct stack *stack = &thread->stack;
	uint64_t ip = event->from ?: event->to;
	const struct symbol *symbol;

	/* perf has no ID for a task that is exiting: the next such task may be another one. */
	if (previous && previous->tid < 0)
		pop(calls, cpu, 0);
	if (previous)
		stack_run_on(&previous->stack, &cpu->now, NULL);
	if (thread->tid < 0)
		stack_restart(stack, &cpu->now, false);
	cpu_switch(cpu, &calls->cpu_names, thread);
	if (!calls->opts.threads_only)
		stack_run_on(stack, &cpu->now, cpu->tracks[TRACK_CODE]);
	if (previous)
		timeline_switch(calls->timeline, cpu->now.at, cpu->number, previous->stack.track,
				stack->track);
	if (!stack->nr || !ip)
		return;
	/* If the thread is not where it was, it has run elsewhere. */
	symbol = resolve(calls, event, ip);
	if (!symbol_is_same(stack_top(stack)->symbol, symbol))
		resync(calls, cpu, symbol);
}

/* The trace begins, or continues after a gap. */
static void trace_begins(struct calls *calls, struct cpu *cpu, const struct calls_event *event,
			 uint64_t ip)
{
	struct stack *stack = &cpu->thread->stack;
	const struct cpu_names *names = &calls->cpu_names;
	const struct symbol *symbol = resolve(calls, event, ip);
	bool entered = cpu->off && cpu->left && symbol->kernel;

	if (cpu->ip || cpu->off) {
		calls->gaps += !cpu->off;
		cpu_gap(cpu, names, cpu->ended,
			cpu->off ? names->untraced[cpu->untraced] : names->lost);
	}
	/* Every entry into the kernel turns interrupts off. */
	if (entered)
		change_irqs(calls, cpu, IRQ_OFF, symbol);
	if (!stack->nr)
		restart(calls, cpu, symbol, entered);
	else
		resync(calls, cpu, symbol);
	cpu->off = cpu->left = false;
	cpu->ip = ip;
	cpu->sequential = false;
}

/* Whether execution continues where expected. */
static bool is_next(const struct cpu *cpu, const struct calls_event *event)
{
	uint64_t ip = event->from;

	if (!cpu->ip || cpu->off)
		return false;
	/* Between branches, each instruction follows the previous one. */
	if (event->flags & CALLS_INSN && cpu->sequential)
		return ip > cpu->ip && ip - cpu->ip <= INSN_LENGTH_MAX;
	if (event->flags & CALLS_INSN)
		return ip == cpu->ip;
	return ip >= cpu->ip && ip - cpu->ip < CALLS_STRAIGHT_MAX;
}

static void on_insn(struct calls *calls, struct cpu *cpu, const struct calls_event *event)
{
	const struct symbol *symbol = be_at(calls, cpu, event, event->from);

	calls_count(calls, cpu, event->insns, event->cycles);
	change_irqs(calls, cpu, event->irqs, symbol);
	cpu->ip = event->last ?: event->from;
	cpu->sequential = true;
}

/* A return to a caller below the known frames: that frame existed since the begin of the stack. */
static void uncover(struct calls *calls, struct cpu *cpu, const struct symbol *symbol)
{
	pop(calls, cpu, 0);
	stack_uncover(&cpu->thread->stack, &cpu->now, symbol);
}

static void on_return(struct calls *calls, struct cpu *cpu, const struct calls_event *event)
{
	struct stack *stack = &cpu->thread->stack;
	size_t i = stack_find_return(stack, event->to);
	const struct symbol *symbol;

	if (i < stack->nr) {
		pop(calls, cpu, i);
		return;
	}
	symbol = resolve(calls, event, event->to);
	/* A return to the begin of a function is a jump, as in retpolines. */
	if (event->to == symbol->start) {
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

/* From an interrupt, an exception or a system call: iret ends all of them. */
static void on_kernel_return(struct calls *calls, struct cpu *cpu, const struct calls_event *event)
{
	struct stack *stack = &cpu->thread->stack;
	bool interrupt = event->flags & CALLS_INTERRUPT;
	size_t i = stack->nr;

	while (i--) {
		enum frame_kind kind = stack->frames[i].kind;

		if (kind == FRAME_SYSCALL || (interrupt && kind == FRAME_INTERRUPT)) {
			pop(calls, cpu, i);
			break;
		}
	}
	if (i == SIZE_MAX && event->to)
		uncover(calls, cpu, resolve(calls, event, event->to));
	else if (i == SIZE_MAX)
		pop(calls, cpu, 0);
	/* After an interrupt, they are as before it. */
	if (i == SIZE_MAX || !interrupt)
		change_irqs(calls, cpu, IRQ_ON, &calls->unknown);
}

static void on_call(struct calls *calls, struct cpu *cpu, const struct calls_event *event)
{
	struct stack *stack = &cpu->thread->stack;
	const struct symbol *symbol = resolve(calls, event, event->to);
	uint64_t back = event->length ? event->from + event->length : 0;
	enum frame_kind kind = event->flags & CALLS_SYSCALL ? FRAME_SYSCALL : FRAME_CALL;

	/* A call within the function: to get an address, or to return elsewhere. */
	if (kind == FRAME_CALL && event->to != symbol->start &&
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

static void on_jump(struct calls *calls, struct cpu *cpu, const struct calls_event *event)
{
	struct stack *stack = &cpu->thread->stack;
	const struct frame *top = stack_top(stack);
	const struct symbol *symbol;

	if (symbol_has(top->symbol, event->to))
		return;
	symbol = resolve(calls, event, event->to);
	if (!symbol_is_same(top->symbol, symbol))
		stack_replace(stack, &cpu->now, symbol);
}

static void on_interrupt(struct calls *calls, struct cpu *cpu, const struct calls_event *event)
{
	const struct symbol *symbol = resolve(calls, event, event->to);
	struct stack *stack = &cpu->thread->stack;

	if (stack->nr >= STACK_DEPTH_MAX)
		restart(calls, cpu, stack_top(stack)->symbol, false);
	stack_push(stack, &cpu->now, symbol, FRAME_INTERRUPT, event->from);
	cpu_interrupt(cpu, &calls->cpu_names, symbol->name);
}

static void trace_ends(struct calls *calls, struct cpu *cpu, const struct calls_event *event)
{
	uint32_t flags = event->flags;

	cpu->off = true;
	cpu->untraced = event->untraced;
	cpu->ended = cpu->now.at;
	if (flags & CALLS_ASYNC)
		return;
	if (flags & CALLS_RETURN && flags & (CALLS_INTERRUPT | CALLS_SYSCALL)) {
		on_kernel_return(calls, cpu, event);
		cpu->left = true;
	} else if (flags & CALLS_CALL && event->length) {
		stack_push(&cpu->thread->stack, &cpu->now, &calls->unknown, FRAME_UNTRACED,
			   event->from + event->length);
	} else if (flags & CALLS_RETURN) {
		pop(calls, cpu, cpu->thread->stack.nr - 1);
	}
}

static void on_branch(struct calls *calls, struct cpu *cpu, const struct calls_event *event)
{
	uint32_t flags = event->flags;

	be_at(calls, cpu, event, event->from);
	if (!cpu->thread->stack.nr)
		return;
	calls_count(calls, cpu, event->insns, event->cycles);
	if (!event->to)
		trace_ends(calls, cpu, event);
	else if (flags & CALLS_INTERRUPT && !(flags & CALLS_RETURN))
		on_interrupt(calls, cpu, event);
	else if (flags & CALLS_RETURN && flags & (CALLS_INTERRUPT | CALLS_SYSCALL))
		on_kernel_return(calls, cpu, event);
	else if (flags & CALLS_RETURN)
		on_return(calls, cpu, event);
	else if (flags & CALLS_CALL)
		on_call(calls, cpu, event);
	else
		on_jump(calls, cpu, event);
	cpu->ip = event->to;
	cpu->sequential = false;
}

/* Code after a branch begins at the time of the branch; the event has the time when it ended. */
static void switch_thread(struct calls *calls, struct cpu *cpu, const struct calls_event *event,
			  uint64_t before)
{
	const struct calls_opts *opts = &calls->opts;
	bool next = is_next(cpu, event);
	struct thread *thread;

	if (next)
		calls_move(calls, cpu, before);
	thread = calls_thread(calls, cpu, event->pid, event->tid, opts->comm(opts->arg, event));
	if (!thread) {
		calls->r = -ENOMEM;
		return;
	}
	change_thread(calls, cpu, event, thread);
	if (next)
		be_at(calls, cpu, event, event->from);
	calls_move(calls, cpu, event->time);
}

void calls_add(struct calls *calls, const struct calls_event *event)
{
	const struct calls_opts *opts = &calls->opts;
	struct cpu *cpu = find_cpu(calls, event->cpu);
	struct thread *thread;
	uint64_t before;

	if (!cpu || calls->r)
		return;
	before = cpu->now.time;
	calls_advance(calls, cpu, event->time);
	thread = cpu->thread;
	if (!thread || thread->tid != event->tid) {
		switch_thread(calls, cpu, event, before);
		if (calls->r)
			return;
	} else if (calls_may_rename(event) &&
		   calls_rename(calls, thread, opts->comm(opts->arg, event))) {
		cpu_rename(cpu, &calls->cpu_names);
	}
	if (!event->from) {
		if (event->to)
			trace_begins(calls, cpu, event, event->to);
		return;
	}
	if (!is_next(cpu, event))
		trace_begins(calls, cpu, event, event->from);
	if (event->flags & CALLS_INSN)
		on_insn(calls, cpu, event);
	else
		on_branch(calls, cpu, event);
	cpu->ended = cpu->now.at;
}

/* Code without symbols has one symbol per file, without addresses. */
static bool is_in(const struct symbol *symbol, uint64_t ip, const struct symbol *of_ip)
{
	return of_ip == symbol || symbol_has(symbol, ip);
}

bool calls_run(struct calls *calls, const struct decode_item *item)
{
	struct cpu *cpu = calls->cpu;
	const struct frame *top;

	if (!cpu || cpu->number != item->cpu || !cpu->thread || cpu->thread->tid != item->tid ||
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

bool calls_stay(struct calls *calls, uint64_t to, const struct symbol *symbol)
{
	struct cpu *cpu = calls->cpu;
	const struct frame *top = stack_top(&cpu->thread->stack);

	if (!is_in(top->symbol, to, symbol))
		return false;
	cpu->ip = to;
	cpu->sequential = false;
	return true;
}

uint64_t calls_next(struct calls *calls, int number)
{
	const struct cpu *cpu = find_cpu(calls, number);

	return cpu && !cpu->off ? cpu->ip : 0;
}

uint64_t calls_gaps(const struct calls *calls)
{
	return calls->gaps;
}

int calls_finish(struct calls *calls, uint64_t *at)
{
	struct moment end = { .time = calls->last, .at = calls->last };

	for (struct cpu *cpu = calls->cpus; cpu; cpu = cpu->next) {
		cpu->now.time = calls->last;
		cpu->now.at = calls_position(calls, cpu);
		/* After the end of the trace. */
		calls_mark_spike(calls, cpu, UINT64_MAX);
	}
	if (calls->opts.axis != CALLS_TIME) {
		end.at = 0;
		for (struct cpu *cpu = calls->cpus; cpu; cpu = cpu->next)
			end.at = cpu->now.at > end.at ? cpu->now.at : end.at;
	}
	for (struct thread *thread = calls->threads; thread; thread = thread->next)
		stack_finish(&thread->stack, &end);
	*at = end.at;
	return calls->r ?: calls->env.r;
}
