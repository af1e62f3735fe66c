// SPDX-License-Identifier: GPL-2.0-only
#include "calls/flow.h"

#include "code/code.h"

struct flow {
	struct decode *decode;
	struct calls *calls;
	struct names *names;
	const struct decode_item *item,
		*next; /* with its symbol, and the symbol of `to`; NULL: unknown */
};

/* Symbol of the place where execution continues; NULL: unknown. */
static const struct symbol *symbol_of_next(const struct decode_item *item,
					   const struct decode_item *next)
{
	if (!next || next->kind != DECODE_BLOCK || !next->code || next->first != item->to ||
	    next->cpu != item->cpu)
		return NULL;
	return next->code->rows->symbol;
}

static const struct symbol *resolve(void *arg, const struct calls_event *event, uint64_t ip)
{
	struct flow *flow = arg;
	const struct symbol *symbol = NULL;

	/* Usually the address where execution continued; a lookup takes longer. */
	if (ip == flow->item->to)
		symbol = symbol_of_next(flow->item, flow->next);
	return code_named(symbol ?: decode_symbol(flow->decode, flow->item, ip), flow->names);
}

static const char *comm(void *arg, const struct calls_event *event)
{
	struct flow *flow = arg;

	return decode_comm(flow->decode, event->tid, event->time) ?: event->tid ? NULL : "swapper";
}

int flow_new(struct flow **ret, struct decode *decode, const struct calls_opts *opts,
	     struct timeline *timeline, struct names *names)
{
	struct calls_opts with = *opts;
	struct flow *flow = calloc(1, sizeof(*flow));
	int r;

	if (!flow)
		return -ENOMEM;
	flow->decode = decode;
	flow->names = names;
	with.resolve = resolve;
	with.comm = comm;
	with.arg = flow;
	r = calls_new(&flow->calls, &with, timeline, names);
	if (r)
		flow_free(flow);
	else
		*ret = flow;
	return r;
}

void flow_free(struct flow *flow)
{
	if (!flow)
		return;
	calls_free(flow->calls);
	free(flow);
}

/* For a branch to untraced code. */
static uint32_t flags_of_branch(const struct code_block *code)
{
	switch ((enum code_branch)(code ? code->branch : CODE_NO_BRANCH)) {
	case CODE_CALL:
		return CALLS_CALL;
	case CODE_RETURN:
		return CALLS_RETURN;
	case CODE_SYSCALL:
		return CALLS_CALL | CALLS_SYSCALL;
	case CODE_SYSRET:
		return CALLS_RETURN | CALLS_SYSCALL;
	case CODE_IRET:
		return CALLS_RETURN | CALLS_INTERRUPT;
	case CODE_INT:
		return CALLS_CALL | CALLS_INTERRUPT;
	case CODE_NO_BRANCH:
	case CODE_JUMP:
	case CODE_COND:
	case CODE_OTHER:
		break;
	}
	return 0;
}

static uint32_t flags_of(const struct decode_item *item)
{
	static const uint32_t flags[] = {
		[DECODE_CALL] = CALLS_CALL,
		[DECODE_RETURN] = CALLS_RETURN,
		[DECODE_SYSCALL] = CALLS_CALL | CALLS_SYSCALL,
		[DECODE_SYSRET] = CALLS_RETURN | CALLS_SYSCALL,
		[DECODE_INTERRUPT] = CALLS_CALL | CALLS_ASYNC | CALLS_INTERRUPT,
		[DECODE_IRET] = CALLS_RETURN | CALLS_INTERRUPT,
		[DECODE_TX_ABORT] = CALLS_ASYNC,
		[DECODE_ASYNC_DISABLED] = CALLS_ASYNC,
		[DECODE_LOST] = 0,
	};

	return item->end == DECODE_DISABLED ? flags_of_branch(item->code) : flags[item->end];
}

static void add_rows(struct flow *flow, const struct decode_item *item)
{
	const struct code_block *code = item->code;

	for (uint32_t i = 0; i < code->nr_rows; i++) {
		const struct code_row *row = &code->rows[i];
		bool is_run = code->symbol;

		calls_add(flow->calls, &(struct calls_event){
					       .time = item->time,
					       .cpu = item->cpu,
					       .pid = item->pid,
					       .tid = item->tid,
					       .flags = CALLS_INSN,
					       .from = is_run ? item->first : row->first,
					       .last = row->last,
					       .symbol = code_named(row->symbol, flow->names),
					       .irqs = (enum irq_change)row->irqs,
					       .insns = is_run ? item->insns : row->insns,
					       .cycles = i ? 0 : item->cycles,
				       });
	}
}

static void add_end(struct flow *flow, const struct decode_item *item)
{
	const struct code_block *code = item->code;
	bool is_traced = item->end != DECODE_DISABLED && item->end != DECODE_ASYNC_DISABLED;
	struct calls_event event = {
		.time = item->time,
		.cpu = item->cpu,
		.pid = item->pid,
		.tid = item->tid,
		.flags = flags_of(item),
		.cycles = code ? 0 : item->cycles,
		.to = is_traced ? item->to : 0,
		.untraced = (uint8_t)item->untraced,
	};

	if (item->end == DECODE_ON || item->end == DECODE_OVERFLOW || item->end == DECODE_LOST)
		return;
	if (event.flags & CALLS_ASYNC || !code) {
		event.from = item->from ?: calls_next(flow->calls, item->cpu);
	} else {
		event.from = code->last;
		event.length = code->length;
		event.symbol = code_named(code->rows[code->nr_rows - 1].symbol, flow->names);
	}
	if (event.from)
		calls_add(flow->calls, &event);
}

static void add(struct flow *flow, const struct decode_item *item)
{
	if (item->kind == DECODE_BEGIN) {
		calls_add(flow->calls, &(struct calls_event){
					       .time = item->time,
					       .cpu = item->cpu,
					       .pid = item->pid,
					       .tid = item->tid,
					       .flags = CALLS_TRACE_BEGIN,
					       .to = item->to,
				       });
		return;
	}
	/* A loss shows when the CPU's trace continues. */
	if (item->kind == DECODE_ERROR)
		return;
	if (item->code)
		add_rows(flow, item);
	add_end(flow, item);
}

void flow_add(struct flow *flow, const struct decode_item *items, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct decode_item *item = &items[i];

		flow->item = item;
		flow->next = i + 1 < nr ? item + 1 : NULL;
		if (item->kind != DECODE_BLOCK || !item->code || !item->code->symbol ||
		    !calls_run(flow->calls, item))
			add(flow, item);
		else if (item->end > DECODE_JUMP ||
			 !calls_stay(flow->calls, item->to, symbol_of_next(item, flow->next)))
			add_end(flow, item);
	}
}

int flow_finish(struct flow *flow, uint64_t *at, uint64_t *gaps)
{
	*gaps = calls_gaps(flow->calls);
	return calls_finish(flow->calls, at);
}
