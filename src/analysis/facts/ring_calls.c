// SPDX-License-Identifier: GPL-2.0-only
#include "facts/ring_calls.h"

#include <inttypes.h>
#include <string.h>

#include "array.h"
#include "calls/cpu.h"
#include "kernel_function.h"
#include "text.h"

/* Bits of common_flags, which the kernel has had since these are there: enum trace_flag_type. */
#define FLAG_IRQS_OFF 1
#define FLAG_HARDIRQ 8
#define FLAG_IRQ (FLAG_HARDIRQ | 16) /* or in a softirq */
#define FLAG_NMI 64
/* If nothing is recorded for so long while the kernel runs, interrupts may have been off, or on,
 * meanwhile. */
#define SILENCE_NS 5000
#define CACHE 4096

struct ring_cpu {
	struct cpu *cpu;
	uint64_t last; /* time of its last event */
	uint64_t flags;
	bool any;
	bool interrupted; /* the interrupt that it is in has begun, and may have ended but for the
			     way back */
	/* The task that a switch names. Until it runs, functions are still of the one before. */
	struct {
		bool is_due;
		int tid;
		char comm[32];
		uint64_t at;
	} next;
};

struct ring_function {
	uint64_t address;
	const struct symbol *symbol; /* NULL: not looked up yet */
	const struct symbol *entry;  /* of the interrupt that begins with it; NULL: none does */
};

struct ring_calls {
	struct ring_calls_opts opts;
	struct threads threads;
	struct cpu_names cpu_names;
	struct symbol_table symbols;
	struct symbol unknown, interrupt;  /* one whose begin is not recorded */
	struct ring_function cache[CACHE]; /* by address */
	struct ring_cpu *cpus;
	size_t nr_cpus;
	uint64_t last, gaps;
	bool has_spike;
};

int ring_calls_new(struct ring_calls **ret, const struct ring_calls_opts *opts)
{
	struct ring_calls *calls = calloc(1, sizeof(*calls));
	int err;

	if (!calls)
		return -ENOMEM;
	calls->opts = *opts;
	calls->threads.names = opts->names;
	calls->unknown.name = calls->unknown.base = names_add(opts->names, "[unknown]");
	calls->interrupt = (struct symbol){ .kernel = true, .text = "[interrupt]" };
	calls->interrupt.name = calls->interrupt.base = names_add(opts->names, "[interrupt]");
	err = names_new(&calls->symbols.texts);
	err = err ?: stack_env_new(&calls->threads.env, opts->timeline, opts->names);
	calls->threads.env.uncounted = true;
	err = err ?: cpu_names_new(&calls->cpu_names, opts->names);
	if (err)
		ring_calls_free(calls);
	else
		*ret = calls;
	return err;
}

void ring_calls_free(struct ring_calls *calls)
{
	if (!calls)
		return;
	threads_release(&calls->threads);
	for (size_t i = 0; i < calls->nr_cpus; i++)
		free(calls->cpus[i].cpu);
	free(calls->cpus);
	symbol_table_release(&calls->symbols);
	free(calls);
}

/* NULL if out of memory. */
static struct ring_cpu *ring_calls_cpu(struct ring_calls *calls, int number)
{
	struct ring_cpu made = { .cpu = NULL };

	for (size_t i = 0; i < calls->nr_cpus; i++) {
		if (calls->cpus[i].cpu->number == number)
			return &calls->cpus[i];
	}
	if (array_grow(&calls->cpus, calls->nr_cpus, sizeof(made)))
		return NULL;
	made.cpu = cpu_new(calls->opts.timeline, calls->opts.names, &calls->cpu_names, number);
	if (!made.cpu)
		return NULL;
	calls->cpus[calls->nr_cpus] = made;
	return &calls->cpus[calls->nr_cpus++];
}

/* NULL if out of memory. */
static const struct symbol *ring_symbol_named(struct ring_calls *calls, const char *name)
{
	const struct symbol *symbol = symbol_table_keep(&calls->symbols, name, 0, 0, true);

	return symbol ? code_named_symbol(symbol, calls->opts.names) : NULL;
}

/* Names the interrupt by its first function, as its entry point, which ftrace does not record.
 * False: no interrupt begins with it. */
static bool name_interrupt_of(const char *function, char *name, size_t size)
{
	const char *vector = kernel_function_after(function, KERNEL_BEFORE_VECTOR);

	if (vector)
		snprintf(name, size, strstr(function, "sysvec_") ? "asm_sysvec_%s" : "asm_exc_%s",
			 vector);
	else if (!strcmp(function, "__common_interrupt"))
		snprintf(name, size, "asm_common_interrupt");
	else
		return false;
	return true;
}

/* NULL if out of memory. */
static const struct ring_function *ring_function_at(struct ring_calls *calls, uint64_t address)
{
	struct ring_function *function =
		&calls->cache[(address * UINT64_C(0x9e3779b97f4a7c15) >> 32) % CACHE];
	const char *name;
	char text[96];

	if (function->symbol && function->address == address)
		return function;
	*function = (struct ring_function){ .address = address };
	name = tracepoints_function(calls->opts.tracepoints, address);
	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	function->symbol = ring_symbol_named(calls, name ?: text);
	if (function->symbol && name_interrupt_of(function->symbol->text, text, sizeof(text))) {
		function->entry = ring_symbol_named(calls, text);
		if (!function->entry)
			function->symbol = NULL;
	}
	return function->symbol ? function : NULL;
}

static void ring_pop_frames(struct ring_calls *calls, struct cpu *cpu, size_t nr)
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

static const char *ring_task_name(const struct ring_calls *calls, int tid)
{
	const char *comm;
	int known;

	for (size_t i = 0; tracepoints_task(calls->opts.tracepoints, i, &known, &comm); i++) {
		if (known == tid)
			return comm;
	}
	return tid ? NULL : "swapper";
}

/* comm: NULL: not in the event. */
static int ring_switch_task(struct ring_calls *calls, struct cpu *cpu, int tid, const char *comm)
{
	struct thread *previous = cpu->thread, *next;

	if (previous && previous->tid == tid)
		return 0;
	next = threads_find_or_add(&calls->threads, cpu, tid, tid,
				   tid ? comm ?: ring_task_name(calls, tid) : "swapper");
	if (!next)
		return -ENOMEM;
	if (previous)
		stack_run_on(&previous->stack, &cpu->now, NULL);
	cpu_switch_thread(cpu, &calls->cpu_names, next);
	stack_run_on(&next->stack, &cpu->now, cpu->tracks[TRACK_CODE]);
	if (previous)
		timeline_switch(calls->opts.timeline, cpu->now.at, cpu->number,
				previous->stack.track, next->stack.track);
	return 0;
}

/* The depth of a function_graph event is in the frame's return address, plus one. 0: not known. */
static void ring_drop_returned(struct ring_calls *calls, struct cpu *cpu, uint64_t depth)
{
	const struct stack *stack = &cpu->thread->stack;
	size_t nr = stack->nr;

	/* Their exits are lost. */
	while (nr && stack->frames[nr - 1].back > depth)
		nr--;
	ring_pop_frames(calls, cpu, nr);
}

/* back: as of a call at the same depth. */
static void ring_begin_interrupt(struct ring_calls *calls, struct cpu *cpu,
				 const struct symbol *symbol, uint64_t back)
{
	stack_push(&cpu->thread->stack, &cpu->now, symbol, FRAME_INTERRUPT, back);
	cpu_begin_interrupt(cpu, &calls->cpu_names, symbol->name,
			    !kernel_function_find(symbol->text, KERNEL_NMI | KERNEL_EXCEPTION));
}

static void ring_enter_function(struct ring_calls *calls, struct cpu *cpu,
				const struct ring_function *function, uint64_t back)
{
	struct stack *stack = &cpu->thread->stack;

	if (stack->nr >= STACK_DEPTH_MAX) {
		ring_pop_frames(calls, cpu, 0);
		stack_restart(stack, &cpu->now, false);
	}
	if (function->entry)
		ring_begin_interrupt(calls, cpu, function->entry, back);
	stack_push(stack, &cpu->now, function->symbol, FRAME_CALL, back);
}

/* An interrupt ends with its first function. */
static void ring_leave_function(struct ring_calls *calls, struct cpu *cpu,
				const struct symbol *symbol, uint64_t back)
{
	struct stack *stack = &cpu->thread->stack;
	size_t nr = stack->nr;
	const struct frame *top;

	if (back)
		ring_drop_returned(calls, cpu, back);
	nr = stack->nr;
	/* Interrupts that tracepoints have begun end with the function around them. */
	while (nr && (!symbol_is_same(stack->frames[nr - 1].symbol, symbol) ||
		      (back && stack->frames[nr - 1].back && stack->frames[nr - 1].back != back)))
		nr--;
	if (nr) {
		ring_pop_frames(calls, cpu, nr - 1);
		top = stack_top(stack);
		if (top && top->kind == FRAME_INTERRUPT && back && top->back == back)
			ring_pop_frames(calls, cpu, nr - 2);
		return;
	}
	/* Entered before the trace began, as all below it. */
	if (stack->nr)
		return;
	stack_uncover(stack, &cpu->now, symbol);
	ring_pop_frames(calls, cpu, 0);
}

static int ring_add_call(struct ring_calls *calls, struct cpu *cpu,
			 const struct tracepoint_event *event)
{
	const struct ring_function *function;
	uint64_t address, depth;

	if (!tracepoint_number(event, "func", &address) ||
	    !tracepoint_number(event, "depth", &depth))
		return 0;
	function = ring_function_at(calls, address);
	if (!function)
		return -ENOMEM;
	depth = (depth & INT32_MAX) + 1;
	if (has_suffix(event->kind->name, "_exit")) {
		ring_leave_function(calls, cpu, function->symbol, depth);
		return 0;
	}
	ring_drop_returned(calls, cpu, depth - 1);
	ring_enter_function(calls, cpu, function, depth);
	return 0;
}

/* Of `function`: only a caller that is not the innermost one tells of returns. */
static int ring_add_entry(struct ring_calls *calls, struct cpu *cpu,
			  const struct tracepoint_event *event)
{
	struct stack *stack = &cpu->thread->stack;
	const struct ring_function *function;
	const struct symbol *parent;
	uint64_t ip, parent_ip;
	size_t nr;

	if (!tracepoint_number(event, "ip", &ip) ||
	    !tracepoint_number(event, "parent_ip", &parent_ip))
		return 0;
	function = ring_function_at(calls, parent_ip - 1);
	parent = function ? function->symbol : NULL;
	function = parent ? ring_function_at(calls, ip) : NULL;
	if (!function)
		return -ENOMEM;
	nr = stack_find_function(stack, parent);
	if (nr < stack->nr) {
		ring_pop_frames(calls, cpu, nr + 1);
	} else {
		ring_pop_frames(calls, cpu, 0);
		stack_push(stack, &cpu->now, parent, FRAME_CALL, 0);
	}
	ring_enter_function(calls, cpu, function, 0);
	return 0;
}

/* The innermost interrupt, or NULL. */
static const struct frame *ring_interrupt_frame(const struct stack *stack)
{
	return stack->interrupt ? &stack->frames[stack->interrupt - 1] : NULL;
}

static void ring_end_interrupt(struct ring_calls *calls, struct cpu *cpu, const char *name)
{
	struct stack *stack = &cpu->thread->stack;
	const struct frame *frame = ring_interrupt_frame(stack);

	/* The first function of the interrupt may be recorded: then it ends that. */
	if (frame && has_prefix(frame->symbol->text, name))
		ring_pop_frames(calls, cpu, stack->interrupt - 1);
}

static int ring_add_interrupt(struct ring_calls *calls, struct cpu *cpu, const char *name)
{
	const struct frame *top = stack_top(&cpu->thread->stack);
	const struct symbol *symbol = ring_symbol_named(calls, name);

	if (!symbol)
		return -ENOMEM;
	ring_begin_interrupt(calls, cpu, symbol, top ? top->back : 0);
	return 0;
}

/* Where the interrupt's first function is not recorded, its vector's events tell of it. */
static int ring_add_vector(struct ring_calls *calls, struct cpu *cpu,
			   const struct tracepoint_event *event)
{
	struct stack *stack = &cpu->thread->stack;
	const struct frame *frame = ring_interrupt_frame(stack);
	const char *name = strchr(event->kind->name, ':') + 1, *end = strrchr(name, '_');
	char text[64];

	if (!end || (strcmp(end, "_entry") && strcmp(end, "_exit")))
		return 0;
	snprintf(text, sizeof(text), "%.*s", (int)(end - name), name);
	if (!strcmp(end, "_exit")) {
		ring_end_interrupt(calls, cpu, text);
		return 0;
	}
	/* Directly in the function that began it */
	if (frame && stack_top(stack) == frame + 1 && has_prefix(frame->symbol->text, "asm_"))
		return 0;
	return ring_add_interrupt(calls, cpu, text);
}

static int ring_add_handler(struct ring_calls *calls, struct cpu *cpu,
			    const struct tracepoint_event *event)
{
	char name[64], text[96];
	uint64_t irq;

	if (!tracepoint_number(event, "irq", &irq))
		return 0;
	snprintf(text, sizeof(text), "irq %d ", (int)irq);
	if (!has_suffix(event->kind->name, "_entry")) {
		ring_end_interrupt(calls, cpu, text);
		return 0;
	}
	tracepoint_text(event, "name", name, sizeof(name));
	snprintf(text, sizeof(text), "irq %d %s", (int)irq, text_make_printable(name));
	return ring_add_interrupt(calls, cpu, text);
}

static int ring_add_switch(struct ring_calls *calls, struct cpu *cpu,
			   const struct tracepoint_event *event)
{
	struct ring_cpu *ring = ring_calls_cpu(calls, cpu->number);
	uint64_t next;
	char comm[32];

	if (!ring || !tracepoint_number(event, "next_pid", &next))
		return 0;
	if (tracepoint_text(event, "prev_comm", comm, sizeof(comm)) &&
	    thread_rename(cpu->thread, calls->opts.names, text_make_printable(comm)))
		cpu_rename_task(cpu, &calls->cpu_names);
	ring->next.is_due = true;
	ring->next.tid = (int)next;
	ring->next.at = event->time;
	tracepoint_text(event, "next_comm", ring->next.comm, sizeof(ring->next.comm));
	text_make_printable(ring->next.comm);
	return 0;
}

/* Switches behind the last function of the task before. */
static int ring_switch_to_next(struct ring_calls *calls, struct ring_cpu *ring)
{
	struct moment now = ring->cpu->now;
	int err;

	ring->next.is_due = false;
	ring->cpu->now = (struct moment){ ring->next.at, ring->next.at };
	err = ring_switch_task(calls, ring->cpu, ring->next.tid,
			       *ring->next.comm ? ring->next.comm : NULL);
	ring->cpu->now = now;
	return err;
}

static void ring_mark_spike(struct ring_calls *calls, struct cpu *cpu)
{
	const struct perf_poke_spike *spike = &calls->opts.facts->spike;
	struct moment now = cpu->now;

	calls->has_spike = true;
	timeline_advance(calls->opts.timeline, spike->time_ns);
	cpu->now.at = spike->time_ns;
	cpu_add_spike_mark(cpu, &calls->cpu_names, spike->expected_ns, spike->latency_ns);
	cpu->now = now;
}

static uint32_t innermost_function(const struct ring_calls *calls, const struct cpu *cpu)
{
	const struct frame *top = cpu->thread ? stack_top(&cpu->thread->stack) : NULL;

	return (top ? top->symbol : &calls->unknown)->name;
}

/* The function that an event enters; NULL: none. */
static const struct ring_function *ring_function_entered(struct ring_calls *calls,
							 const struct tracepoint_event *event)
{
	const char *name = event->kind->name;
	uint64_t address;

	if (has_prefix(name, "ftrace:funcgraph_") && !has_suffix(name, "_exit") &&
	    tracepoint_number(event, "func", &address))
		return ring_function_at(calls, address);
	return !strcmp(name, "ftrace:function") && tracepoint_number(event, "ip", &address)
		       ? ring_function_at(calls, address)
		       : NULL;
}

/* The CPU is in an interrupt, whose begin is before the trace, or is not traced. */
static void ring_assume_interrupt(struct ring_calls *calls, struct ring_cpu *ring,
				  const struct tracepoint_event *event, uint64_t flags)
{
	struct stack *stack = &ring->cpu->thread->stack;
	const struct frame *frame = ring_interrupt_frame(stack);
	const struct ring_function *function = ring_function_entered(calls, event);
	bool begins = (function && function->entry) ||
		      has_prefix(event->kind->name, "irq:irq_handler_entry") ||
		      has_prefix(event->kind->name, "irq_vectors:");

	if (!(flags & FLAG_HARDIRQ)) {
		ring->interrupted = false;
		if (frame && frame->symbol == &calls->interrupt)
			ring_pop_frames(calls, ring->cpu, stack->interrupt - 1);
	} else if (frame || begins) {
		ring->interrupted = true;
	} else if (!ring->interrupted && (ring->flags & FLAG_HARDIRQ || !ring->any)) {
		ring_begin_interrupt(calls, ring->cpu, &calls->interrupt, 0);
	}
}

/* The first event of an interrupt: what it is of, so far as that is known; 0: another event. */
static uint32_t ring_interrupt_begun(struct ring_calls *calls, const struct ring_cpu *ring,
				     const struct tracepoint_event *event, uint64_t flags)
{
	const struct ring_function *function = ring_function_entered(calls, event);

	if (ring->flags & FLAG_HARDIRQ)
		return 0;
	if (function && function->entry)
		return function->entry->name;
	if (function && (flags & FLAG_HARDIRQ || has_prefix(function->symbol->text, "irq_enter")))
		return function->symbol->name;
	return flags & FLAG_HARDIRQ ? calls->unknown.name : 0;
}

/* Advances the time, and takes what each event tells: its task, and whether interrupts are off. */
static int ring_advance(struct ring_calls *calls, struct ring_cpu *ring,
			const struct tracepoint_event *event)
{
	const struct perf_poke_spike *spike = &calls->opts.facts->spike;
	struct cpu *cpu = ring->cpu;
	uint64_t since = ring->any ? ring->last : event->time, flags;
	uint32_t interrupt;
	bool silent;
	int err = 0;

	if (cpu->number == spike->cpu && !calls->has_spike && !spike->poked &&
	    event->time > spike->time_ns)
		ring_mark_spike(calls, cpu);
	timeline_advance(calls->opts.timeline, event->time);
	calls->last = event->time > calls->last ? event->time : calls->last;
	cpu->now = (struct moment){ event->time, event->time };
	if (event->missed && ring->any) {
		calls->gaps++;
		cpu_add_trace_gap(cpu, &calls->cpu_names, since,
				  calls->cpu_names.lost[LOSS_OF_TRACE]);
		if (cpu->thread) {
			ring_pop_frames(calls, cpu, 0);
			stack_restart(&cpu->thread->stack, &cpu->now, false);
		}
		cpu_irqs_lost(cpu, &calls->cpu_names, since);
	}
	if (ring->next.is_due && event->tid != ring->next.tid)
		ring->next.at = event->time;
	else if (ring->next.is_due)
		err = ring_switch_to_next(calls, ring);
	if (!err && event->tid >= 0 && !ring->next.is_due)
		err = ring_switch_task(calls, cpu, event->tid, NULL);
	if (err || !tracepoint_number(event, "common_flags", &flags) || flags & FLAG_NMI)
		return err;
	interrupt = ring_interrupt_begun(calls, ring, event, flags);
	silent = ring->any && event->time - since > SILENCE_NS && cpu->thread;
	/* In user space, and while it idles, interrupts are on, whatever the last event was. */
	if (silent && (!cpu->thread->stack.nr || (!cpu->thread->tid && !(ring->flags & FLAG_IRQ))))
		silent = cpu->irqs == IRQS_OFF;
	else if (cpu->irqs == IRQS_OFF)
		silent &= interrupt != 0;
	if (cpu->thread)
		ring_assume_interrupt(calls, ring, event, flags);
	ring->flags = flags;
	if (silent)
		cpu_irqs_lost(cpu, &calls->cpu_names, since + 1);
	/* An interrupt shows that they were on. */
	if (interrupt && flags & FLAG_IRQS_OFF) {
		cpu_change_irqs(cpu, &calls->cpu_names, IRQ_ON, 0);
		cpu_change_irqs(cpu, &calls->cpu_names, IRQ_OFF, interrupt);
		return 0;
	}
	cpu_see_irqs(cpu, &calls->cpu_names, flags & FLAG_IRQS_OFF, since,
		     innermost_function(calls, cpu));
	return 0;
}

int ring_calls_add(struct ring_calls *calls, const struct tracepoint_event *event)
{
	static const struct {
		const char *prefix;
		int (*take)(struct ring_calls *calls, struct cpu *cpu,
			    const struct tracepoint_event *event);
	} table[] = {
		{ "ftrace:funcgraph_", ring_add_call },	   { "ftrace:function", ring_add_entry },
		{ "irq_vectors:", ring_add_vector },	   { "irq:irq_handler_", ring_add_handler },
		{ "sched:sched_switch", ring_add_switch },
	};
	struct ring_cpu *ring = ring_calls_cpu(calls, event->cpu);
	int err = ring ? ring_advance(calls, ring, event) : -ENOMEM;

	if (err)
		return err;
	for (size_t i = 0; i < ARRAY_SIZE(table) && ring->cpu->thread; i++) {
		if (!has_prefix(event->kind->name, table[i].prefix))
			continue;
		err = table[i].take(calls, ring->cpu, event);
		break;
	}
	ring->any = true;
	ring->last = event->time;
	return err ?: calls->threads.env.err;
}

int ring_calls_finish(struct ring_calls *calls, uint64_t *at, uint64_t *gaps)
{
	const struct perf_poke_spike *spike = &calls->opts.facts->spike;
	struct moment end = { calls->last, calls->last };
	int err = 0;

	for (size_t i = 0; i < calls->nr_cpus && !err; i++) {
		if (calls->cpus[i].next.is_due)
			err = ring_switch_to_next(calls, &calls->cpus[i]);
		if (calls->cpus[i].cpu->number == spike->cpu && !calls->has_spike && !spike->poked)
			ring_mark_spike(calls, calls->cpus[i].cpu);
	}
	for (struct thread *thread = calls->threads.first; thread; thread = thread->next)
		stack_finish(&thread->stack, &end);
	*at = end.at;
	*gaps = calls->gaps;
	return err ?: calls->threads.env.err ?: names_error(calls->opts.names);
}
