// SPDX-License-Identifier: GPL-2.0-only
/* Events between blocks. */
#include "pt/blocks_internal.h"

#include "code/code.h"

struct decode_item *blocks_interrupted(struct blocks *blocks, enum decode_end end)
{
	struct decode_item *item = blocks->open;

	blocks->open = NULL;
	if (!item)
		item = blocks_add(blocks, DECODE_BLOCK);
	item->time = blocks->now;
	item->end = end;
	item_add_cycles(item, pace_rest(blocks->pace));
	if (end == DECODE_DISABLED || end == DECODE_ASYNC_DISABLED)
		item->untraced = (int16_t)pace_untraced(blocks->pace);
	return item;
}

/* An interrupt at an instruction, which is not executed. */
static int interrupt(struct blocks *blocks, uint64_t from, uint64_t to, enum decode_end end)
{
	const struct code_block *code = blocks->open ? blocks->open->code : NULL;
	struct decode_item *item;

	/* A branch to this address is a separate item. */
	if (!code || code->branch != CODE_NO_BRANCH ||
	    (code->length && code->last + code->length != from)) {
		int r = blocks_arrive(blocks, from);

		if (r)
			return r;
	}
	item = blocks_interrupted(blocks, end);
	item->from = from;
	item->to = to;
	blocks->flowing = end != DECODE_ASYNC_DISABLED;
	return 0;
}

static int overflow(struct blocks *blocks, const struct pt_event *event)
{
	int r;

	if (blocks->flowing)
		blocks_interrupted(blocks, DECODE_OVERFLOW);
	blocks->counts.overflows++;
	blocks->flowing = !event->ip_suppressed;
	blocks->lost = event->ip_suppressed;
	if (!blocks->flowing)
		return 0;
	r = blocks_set_time(blocks, pace_resume(blocks->pace));
	if (!r)
		blocks_add(blocks, DECODE_BEGIN)->to = event->variant.overflow.ip;
	return r;
}

static int enable(struct blocks *blocks, const struct pt_event *event)
{
	int r = blocks_go_on(blocks, event->variant.enabled.ip);

	if (r)
		return r;
	blocks->flowing = false;
	return blocks_arrive(blocks, event->variant.enabled.ip);
}

/* A virtual machine has its own code, of which this host knows nothing: goes on where it exits. */
static void enter_guest(struct blocks *blocks)
{
	if (blocks->open || blocks->flowing)
		blocks_interrupted(blocks, DECODE_DISABLED)->untraced = UNTRACED_GUEST;
	blocks->flowing = false;
	blocks->broken = true;
	blocks->missing = 0;
}

static int async_branch(struct blocks *blocks, const struct pt_event *event)
{
	enum decode_end end = blocks->aborted ? DECODE_TX_ABORT : DECODE_INTERRUPT;

	blocks->aborted = false;
	return interrupt(blocks, event->variant.async_branch.from, event->variant.async_branch.to,
			 end);
}

/* The state at a PSB. This segment ends at the next one's PSB. The decoder's position does not
 * identify it, because the decoder reads ahead. */
static int status_update(struct blocks *blocks, const struct pt_event *event)
{
	int r = 0;

	if (event->type != ptev_exec_mode)
		return 0;
	if (!event->ip_suppressed)
		r = blocks_arrive(blocks, event->variant.exec_mode.ip);
	if (blocks->modes || !blocks->joins) {
		blocks->modes -= blocks->modes > 0;
		return r;
	}
	blocks->counts.joined = blocks->flowing;
	blocks->counts.cycles = pace_rest(blocks->pace);
	blocks->done = true;
	return r;
}

static int branch_event(struct blocks *blocks, const struct pt_event *event)
{
	switch (event->type) {
	case ptev_enabled:
		return enable(blocks, event);
	case ptev_disabled:
		if (blocks->flowing)
			blocks_interrupted(blocks, DECODE_DISABLED)->to =
				event->ip_suppressed ? 0 : event->variant.disabled.ip;
		blocks->flowing = false;
		return 0;
	case ptev_async_disabled:
		return interrupt(blocks, event->variant.async_disabled.at,
				 event->ip_suppressed ? 0 : event->variant.async_disabled.ip,
				 DECODE_ASYNC_DISABLED);
	case ptev_async_branch:
		return async_branch(blocks, event);
	case ptev_overflow:
		return overflow(blocks, event);
	case ptev_tsx:
		blocks->aborted = event->variant.tsx.aborted;
		return 0;
	default:
		return 0;
	}
}

static int use_event(struct blocks *blocks, const struct pt_event *event)
{
	/* Kinds of items for events at an address. */
	static const uint8_t kinds[] = {
		[ptev_enabled] = PACE_ENABLE + 1,	  [ptev_disabled] = PACE_DISABLE + 1,
		[ptev_async_disabled] = PACE_DISABLE + 1, [ptev_async_branch] = PACE_BRANCH + 1,
		[ptev_overflow] = PACE_OVERFLOW + 1,	  [ptev_tsx] = PACE_BRANCH + 1,
	};
	int r;

	if (event->status_update)
		return status_update(blocks, event);
	if (event->type == ptev_paging && event->variant.paging.non_root) {
		blocks->passed = blocks_position(blocks);
		r = blocks_set_time(blocks, pace_now(blocks->pace));
		enter_guest(blocks);
		return r;
	}
	/* Other events precede the code that was executed until their time. */
	if ((size_t)event->type >= ARRAY_SIZE(kinds) || !kinds[event->type])
		return 0;
	blocks->passed = blocks_position(blocks);
	r = blocks_set_time(blocks, pace_last(blocks->pace, kinds[event->type] - 1));
	return r ? r : branch_event(blocks, event);
}

int blocks_take_event(struct blocks *blocks)
{
	struct pt_event event;
	int r;

	blocks->status = pt_blk_event(blocks->decoder, &event, sizeof(event));
	if (!READS_AHEAD)
		blocks_move(blocks);
	r = blocks->status < 0 ? 0 : use_event(blocks, &event);
	if (READS_AHEAD)
		blocks_move(blocks);
	return r;
}
