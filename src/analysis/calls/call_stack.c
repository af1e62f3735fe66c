// SPDX-License-Identifier: GPL-2.0-only
#include "calls/cpu.h"

#include "array.h"

/* Of one hash, and of one function: no trace makes a return take longer. */
#define LOOK_BACK 1024

int stack_env_new(struct stack_env *env, struct timeline *timeline, struct names *names)
{
	*env = (struct stack_env){ .timeline = timeline };
	env->category.kernel = names_add(names, "kernel");
	env->category.user = names_add(names, "user");
	env->category.interrupt = names_add(names, "interrupt");
	env->category.syscall = names_add(names, "syscall");
	env->category.untraced = names_add(names, "untraced");
	env->category.inlined = names_add(names, "inlined");
	env->key.insns = names_add(names, "instructions");
	env->key.cycles = names_add(names, "cycles");
	env->key.ipc = names_add(names, "IPC");
	env->key.span = names_add(names, "time");
	env->key.before = names_add(names, "began before the trace");
	env->key.unfinished = names_add(names, "unfinished");
	env->untraced = names_add(names, "[not traced]");
	return names_error(names);
}

void stack_release(struct stack *stack)
{
	free(stack->frames);
	free(stack->by_back);
	*stack = (struct stack){ 0 };
}

static uint32_t frame_category(const struct stack_env *env, const struct frame *frame)
{
	switch (frame->kind) {
	case FRAME_INTERRUPT:
		return env->category.interrupt;
	case FRAME_SYSCALL:
		return env->category.syscall;
	case FRAME_UNTRACED:
		return env->category.untraced;
	case FRAME_CALL:
		break;
	}
	return frame->symbol->kernel ? env->category.kernel : env->category.user;
}

static uint32_t *hash_chain_head(const struct stack *stack, uint64_t back)
{
	return &stack->by_back[(back * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (stack->room - 1)];
}

/* Lists the frame at this index, which has none inside it. */
static void link_frame_at(struct stack *stack, size_t i)
{
	struct frame *frame = &stack->frames[i];
	uint32_t *head = hash_chain_head(stack, frame->back), number = (uint32_t)i + 1;

	frame->same_hash = *head;
	*head = number;
	frame->interrupt = stack->interrupt;
	frame->entry = stack->entry;
	if (frame->kind == FRAME_INTERRUPT)
		stack->interrupt = number;
	if (frame->kind == FRAME_INTERRUPT || frame->kind == FRAME_SYSCALL)
		stack->entry = number;
}

static struct frame unlink_last_frame(struct stack *stack)
{
	const struct frame frame = stack->frames[--stack->nr];

	*hash_chain_head(stack, frame.back) = frame.same_hash;
	stack->interrupt = frame.interrupt;
	stack->entry = frame.entry;
	return frame;
}

static int grow_stack_room(struct stack *stack)
{
	size_t room = stack->room ? 2 * stack->room : 32;
	uint32_t *by_back = calloc(room, sizeof(*by_back));
	struct frame *frames = by_back ? realloc(stack->frames, room * sizeof(*frames)) : NULL;

	if (!frames) {
		free(by_back);
		return -ENOMEM;
	}
	free(stack->by_back);
	stack->by_back = by_back;
	stack->frames = frames;
	stack->room = room;
	stack->interrupt = stack->entry = 0;
	for (size_t i = 0; i < stack->nr; i++)
		link_frame_at(stack, i);
	return 0;
}

/* NULL if out of memory. */
static struct frame *add_stack_frame(struct stack *stack, const struct frame *frame)
{
	if (stack->nr == stack->room && grow_stack_room(stack)) {
		stack->env->err = -ENOMEM;
		return NULL;
	}
	stack->frames[stack->nr] = *frame;
	link_frame_at(stack, stack->nr);
	return &stack->frames[stack->nr++];
}

static void begin_frame_counts(struct stack *stack, struct frame *frame, const struct moment *now)
{
	frame->before = false;
	frame->time = now->time;
	frame->counts = stack->counts;
}

void stack_restart(struct stack *stack, const struct moment *now, bool whole)
{
	stack_pop(stack, now, 0);
	stack->whole = whole;
	if (!whole)
		track_restart(stack->track, now->at);
	if (!whole && stack->cpu)
		track_restart(stack->cpu, now->at);
	begin_frame_counts(stack, &stack->root, now);
}

static uint32_t frame_slice_name(const struct stack *stack, const struct frame *frame)
{
	return frame->kind == FRAME_UNTRACED ? stack->env->untraced : frame->symbol->name;
}

static void begin_slice_on_cpu(struct stack *stack, const struct frame *frame, uint64_t at)
{
	if (stack->cpu)
		track_begin(stack->cpu, at, frame_category(stack->env, frame),
			    frame_slice_name(stack, frame));
}

static void begin_inlined_slice(const struct stack *stack, struct track *track, uint64_t at,
				const struct code_inlined *inlined)
{
	if (track)
		track_begin(track, at, stack->env->category.inlined, inlined->name);
}

/* The first `kept` of them go on. */
static void end_inlined_slices(struct track *track, const struct code_chain *chain, uint32_t kept,
			       uint64_t at)
{
	for (uint32_t i = kept; track && chain && i < chain->nr; i++)
		track_end(track, at, NULL, 0);
}

void stack_set_chain(struct stack *stack, const struct moment *now, const struct code_chain *chain,
		     struct names *names)
{
	struct frame *top = stack_top(stack);
	uint32_t kept = 0;

	if (!top || top->chain == chain)
		return;
	while (chain && top->chain && kept < chain->nr && kept < top->chain->nr &&
	       chain->list[kept] == top->chain->list[kept])
		kept++;
	end_inlined_slices(stack->track, top->chain, kept, now->at);
	end_inlined_slices(stack->cpu, top->chain, kept, now->at);
	for (uint32_t i = kept; chain && i < chain->nr; i++) {
		struct code_inlined *inlined = chain->list[i];

		if (!inlined->name)
			inlined->name = names_add(names, inlined->text);
		begin_inlined_slice(stack, stack->track, now->at, inlined);
		begin_inlined_slice(stack, stack->cpu, now->at, inlined);
	}
	top->chain = chain;
}

void stack_run_on(struct stack *stack, const struct moment *now, struct track *cpu)
{
	for (size_t i = 0; stack->cpu && i < stack->nr; i++) {
		end_inlined_slices(stack->cpu, stack->frames[i].chain, 0, now->at);
		track_end(stack->cpu, now->at, NULL, 0);
	}
	stack->cpu = cpu;
	if (cpu)
		track_restart(cpu, now->at);
	for (size_t i = 0; i < stack->nr; i++) {
		const struct code_chain *chain = stack->frames[i].chain;

		begin_slice_on_cpu(stack, &stack->frames[i], now->at);
		for (uint32_t j = 0; chain && j < chain->nr; j++)
			begin_inlined_slice(stack, stack->cpu, now->at, chain->list[j]);
	}
}

void stack_push(struct stack *stack, const struct moment *now, const struct symbol *symbol,
		enum frame_kind kind, uint64_t back)
{
	struct frame made = { .symbol = symbol, .kind = kind, .back = back };
	const struct frame *frame;

	begin_frame_counts(stack, &made, now);
	frame = add_stack_frame(stack, &made);
	if (!frame)
		return;
	track_begin(stack->track, now->at, frame_category(stack->env, frame),
		    frame_slice_name(stack, frame));
	begin_slice_on_cpu(stack, frame, now->at);
}

static void pop_last_frame(struct stack *stack, const struct moment *now, bool unfinished)
{
	const struct stack_env *env = stack->env;
	const struct frame frame = unlink_last_frame(stack);
	uint64_t insns = stack->counts.insns - frame.counts.insns;
	uint64_t cycles = stack->counts.cycles - frame.counts.cycles;
	struct track_arg args[8];
	size_t nr = 0;

	end_inlined_slices(stack->track, frame.chain, 0, now->at);
	end_inlined_slices(stack->cpu, frame.chain, 0, now->at);
	args[nr++] = (struct track_arg){ .type = TRACK_ARG_SPAN,
					 .key = env->key.span,
					 .span = { frame.time, now->time } };
	if (!env->uncounted)
		args[nr++] = (struct track_arg){ .key = env->key.insns, .u64 = insns };
	if (cycles) {
		args[nr++] = (struct track_arg){ .key = env->key.cycles, .u64 = cycles };
		args[nr++] = (struct track_arg){ .type = TRACK_ARG_DOUBLE,
						 .key = env->key.ipc,
						 .number = (double)insns / (double)cycles };
	}
	if (frame.before)
		args[nr++] = (struct track_arg){ .type = TRACK_ARG_BOOL,
						 .key = env->key.before,
						 .boolean = true };
	if (unfinished)
		args[nr++] = (struct track_arg){ .type = TRACK_ARG_BOOL,
						 .key = env->key.unfinished,
						 .boolean = true };
	track_end(stack->track, now->at, args, nr);
	if (stack->cpu)
		track_end(stack->cpu, now->at, args, nr);
}

void stack_pop(struct stack *stack, const struct moment *now, size_t nr)
{
	while (stack->nr > nr)
		pop_last_frame(stack, now, false);
}

void stack_replace(struct stack *stack, const struct moment *now, const struct symbol *symbol)
{
	const struct frame top = *stack_top(stack);

	stack_pop(stack, now, stack->nr - 1);
	stack_push(stack, now, symbol, top.kind, top.back);
}

void stack_uncover(struct stack *stack, const struct moment *now, const struct symbol *symbol)
{
	struct frame made = stack->root;
	const struct frame *frame;

	if (stack->whole) {
		stack_push(stack, now, symbol, FRAME_CALL, 0);
		return;
	}
	made.symbol = symbol;
	made.kind = FRAME_CALL;
	made.back = 0;
	made.before = true;
	frame = add_stack_frame(stack, &made);
	if (!frame)
		return;
	track_begin_late(stack->track, frame_category(stack->env, frame),
			 frame_slice_name(stack, frame));
	if (stack->cpu)
		track_begin_late(stack->cpu, frame_category(stack->env, frame),
				 frame_slice_name(stack, frame));
}

/* The innermost frame with this return address, if it is inside the frame `outer`, an index + 1. */
static size_t find_frame_by_return(const struct stack *stack, uint64_t back, uint32_t outer)
{
	uint32_t i = stack->room ? *hash_chain_head(stack, back) : 0;

	for (size_t looked = 0; i > outer && looked < LOOK_BACK; looked++) {
		if (stack->frames[i - 1].back == back)
			return i - 1;
		i = stack->frames[i - 1].same_hash;
	}
	return stack->nr;
}

size_t stack_find_return(const struct stack *stack, uint64_t to)
{
	return find_frame_by_return(stack, to, stack->interrupt);
}

size_t stack_find_function(const struct stack *stack, const struct symbol *symbol)
{
	size_t end = stack->nr > LOOK_BACK ? stack->nr - LOOK_BACK : 0;

	for (size_t i = stack->nr; i-- > end;) {
		if (symbol_is_same(stack->frames[i].symbol, symbol))
			return i;
		if (stack->frames[i].kind != FRAME_CALL)
			break;
	}
	return stack->nr;
}

static bool is_user_address(uint64_t ip)
{
	return ip && !(ip >> 63);
}

size_t stack_find_entry(const struct stack *stack, bool iret, uint64_t to)
{
	size_t found = iret && to ? find_frame_by_return(stack, to, 0) : stack->nr;

	if (found < stack->nr && (stack->frames[found].kind == FRAME_INTERRUPT ||
				  stack->frames[found].kind == FRAME_SYSCALL))
		return found;
	/* The kernel may return elsewhere, such as to a signal's handler or behind an instruction
	 * that faulted; and the ends of nested ones may be lost. */
	for (uint32_t i = stack->entry; i; i = stack->frames[i - 1].entry) {
		bool from_kernel = i > 1 && stack->frames[i - 2].symbol->kernel;

		if ((iret || stack->frames[i - 1].kind == FRAME_SYSCALL) &&
		    !(is_user_address(to) && from_kernel))
			return i - 1;
	}
	return stack->nr;
}

bool stack_entry_returns(const struct stack *stack, uint64_t to)
{
	return stack->entry && stack->frames[stack->entry - 1].back == to;
}

bool stack_is_in_interrupt(const struct stack *stack)
{
	return stack->interrupt;
}

void stack_finish(struct stack *stack, const struct moment *now)
{
	while (stack->nr)
		pop_last_frame(stack, now, true);
}
