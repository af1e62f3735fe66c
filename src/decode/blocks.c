// SPDX-License-Identifier: GPL-2.0-only
#include "blocks.h"

#include "code.h"
#include "pace.h"
#include "psb.h"
#include "who.h"

/* Items that one step can add. */
#define STEP_ITEMS 4

/* From then on libipt has always read the packet that is used next, too: it stands at it, or, of
 * TNT, behind it. */
#define READS_AHEAD (LIBIPT_VERSION >= 0x201)

/* No code runs through more blocks without a packet, but an endless loop. */
#define BLOCKS_WITHOUT_PACKET 4096

struct blocks {
	const struct blocks_env *env;
	const struct trace_clock *clock;
	struct trace_segment segment;
	uint64_t until;	    /* time of the next segment; no packet of this one is later */
	bool joins;	    /* the next segment */
	unsigned int modes; /* of its PSB+, that were not met yet */
	struct pt_block_decoder *decoder;
	uint8_t *copy; /* of the trace; NULL: the trace itself is decoded */
	struct code_view *view;
	struct who who;
	struct pace *pace;

	uint64_t now;	/* ns */
	uint64_t check; /* when who runs, or what is mapped, may change */
	uint64_t mark;	/* the next one: no run goes on from before it */
	struct decode_item blank;

	struct decode_item *items;
	size_t nr;
	struct decode_item *open; /* the last one, whose end is not known yet */
	struct decode_item carried;
	struct pt_block part; /* of the block to come; ninsn 0: none */
	int status;	      /* of the decoder */
	uint64_t position;    /* of the decoder, when it was last asked for */
	uint64_t nr_blocks;
	uint64_t at; /* of the decoder, BLOCKS_WITHOUT_PACKET ago */
	bool is_carried;
	bool flowing; /* the code that follows was reached by what is known */
	bool lost;    /* by an overflow; where it ends is not known */
	bool aborted; /* a transaction; the branch out of it follows */
	bool at_end;  /* of the packets: what code follows is as far as it needs none */
	bool done;
	struct blocks_counts counts;
};

static void begin_who(struct blocks *blocks, const struct trace_queue *queue)
{
	struct trace_whose whose = trace_whose(queue);
	const struct sideband_task *tasks;
	size_t nr;

	blocks->blank =
		(struct decode_item){ .cpu = whose.cpu, .pid = whose.pid, .tid = whose.tid };
	blocks->who = (struct who){ .pid = whose.pid, .tid = whose.tid };
	if (whose.tid >= 0)
		return;
	tasks = sideband_tasks(blocks->env->sideband, whose.cpu, &nr);
	who_begin(&blocks->who, tasks, nr, blocks->now);
}

/* A PSB in code that is not traced need not tell the mode, which libipt has to know when tracing
 * begins. Perf takes it for the one before, or 64 bits. */
static int tell_mode(struct blocks *blocks, const struct psb *psb, struct pt_config *config)
{
	blocks->copy = psb_with_mode(psb, config->begin, config->end);
	if (!blocks->copy)
		return -ENOMEM;
	blocks->modes = 1;
	config->end = blocks->copy + (config->end - config->begin) + PSB_MODE_SIZE;
	config->begin = blocks->copy;
	return 0;
}

/* libipt tells what is before a PSB when it has read the PSB+ behind. */
static int begin_decoder(struct blocks *blocks, const struct trace_segment *next)
{
	struct pt_config config = blocks->env->config;
	struct psb psb;

	config.begin = (uint8_t *)blocks->segment.begin;
	config.end = (uint8_t *)blocks->segment.end;
	psb = psb_read(config.begin, config.end);
	blocks->modes = psb.modes;
	if (pace_new(&blocks->pace, sideband_pt(blocks->env->sideband), &blocks->segment,
		     blocks->segment.joined && psb.on))
		return -ENOMEM;
	blocks->joins = next && next->joined;
	if (blocks->joins)
		config.end += psb_read(config.end, blocks->segment.limit).size;
	if (psb.no_mode && tell_mode(blocks, &psb, &config))
		return -ENOMEM;
	blocks->decoder = pt_blk_alloc_decoder(&config);
	if (!blocks->decoder)
		return -ENOMEM;
	blocks->status = pt_blk_sync_set(blocks->decoder, 0);
	return 0;
}

int blocks_new(struct blocks **ret, const struct blocks_env *env, const struct trace_queue *queue,
	       const struct trace_segment *segment, const struct trace_segment *next)
{
	struct blocks *blocks = calloc(1, sizeof(*blocks));
	int r;

	if (!blocks)
		return -ENOMEM;
	blocks->env = env;
	blocks->clock = &sideband_pt(env->sideband)->clock;
	blocks->segment = *segment;
	blocks->now = segment->time;
	blocks->until = next && next->time ? next->time : UINT64_MAX;
	begin_who(blocks, queue);
	r = begin_decoder(blocks, next);
	if (r) {
		blocks_free(blocks);
		return r;
	}
	*ret = blocks;
	return 0;
}

void blocks_free(struct blocks *blocks)
{
	if (!blocks)
		return;
	if (blocks->decoder)
		pt_blk_free_decoder(blocks->decoder);
	pace_free(blocks->pace);
	free(blocks->copy);
	free(blocks);
}

bool blocks_done(const struct blocks *blocks)
{
	return blocks->done;
}

const struct blocks_counts *blocks_counts(const struct blocks *blocks)
{
	return &blocks->counts;
}

static struct decode_item *add(struct blocks *blocks, enum decode_kind kind)
{
	struct decode_item *item = &blocks->items[blocks->nr++];

	*item = blocks->blank;
	item->time = blocks->now;
	item->kind = kind;
	return item;
}

/* Another one runs, or other code is mapped. */
static int look(struct blocks *blocks)
{
	struct pt_image *image;
	uint64_t until;

	blocks->blank.pid = blocks->who.pid;
	blocks->blank.tid = blocks->who.tid;
	image = code_view_image(blocks->view, blocks->who.pid, blocks->now, &until);
	if (!image)
		return -ENOMEM;
	pt_blk_set_image(blocks->decoder, image);
	blocks->check = until < who_until(&blocks->who) ? until : who_until(&blocks->who);
	return 0;
}

/* The segment began while the CPU changed to the task that runs now, and no branch to __switch_to
 * was seen since: that was before it. */
static void look_back(struct blocks *blocks)
{
	blocks->who.midway = false;
	for (size_t i = 0; i < blocks->nr; i++) {
		blocks->items[i].pid = blocks->who.pid;
		blocks->items[i].tid = blocks->who.tid;
	}
}

static int switched(struct blocks *blocks)
{
	if (blocks->who.midway)
		look_back(blocks);
	return look(blocks);
}

/* In the segment; of a decoder that stands nowhere 0. */
static uint64_t position(const struct blocks *blocks)
{
	uint64_t offset = 0;

	(void)pt_blk_get_offset(blocks->decoder, &offset);
	return blocks->copy && offset >= PSB_MODE_SIZE ? offset - PSB_MODE_SIZE : offset;
}

static bool move(struct blocks *blocks)
{
	bool branched;

	blocks->position = position(blocks);
	branched = pace_move(blocks->pace, blocks->position);
	if (READS_AHEAD)
		pace_pass(blocks->pace);
	return branched;
}

/* tsc: 0 if it is not known. */
static int set_time(struct blocks *blocks, uint64_t tsc)
{
	uint64_t now = tsc ? trace_clock_ns(blocks->clock, tsc) : 0;

	if (now <= blocks->now)
		return 0;
	blocks->now = now;
	if (now < blocks->check)
		return 0;
	return who_at(&blocks->who, now) ? switched(blocks) : look(blocks);
}

static bool is_user(uint64_t ip)
{
	return !(ip >> 63);
}

/* Execution goes on at `to`: what the open item left to be known. */
static int close_open(struct blocks *blocks, uint64_t to)
{
	struct decode_item *open = blocks->open;
	bool changed = false;

	blocks->open = NULL;
	open->to = to;
	open->end = item_end(open->code, to);
	if (open->end == DECODE_INTERRUPT)
		open->from = open->code->last + open->code->length;
	if (to == blocks->env->switch_to && to)
		changed = who_switch(&blocks->who, blocks->now, blocks->until);
	else if ((open->end == DECODE_SYSRET || open->end == DECODE_IRET) && is_user(to))
		changed = who_in_user(&blocks->who, blocks->now);
	return changed ? switched(blocks) : 0;
}

static int arrive(struct blocks *blocks, uint64_t ip)
{
	if (blocks->open)
		return close_open(blocks, ip);
	if (!blocks->flowing)
		add(blocks, DECODE_BEGIN)->to = ip;
	blocks->flowing = true;
	blocks->lost = false;
	return 0;
}

static int pace_block(struct blocks *blocks)
{
	if (!move(blocks))
		return 0;
	blocks->open->cycles = pace_take(blocks->pace);
	return set_time(blocks, pace_first(blocks->pace));
}

/* The last packet of a branch that was passed is the one that the block may have used. */
static int pace_ahead(struct blocks *blocks)
{
	uint64_t tsc = pace_last(blocks->pace, PACE_BRANCH);
	uint8_t branch = blocks->open->code->branch;

	if (position(blocks) == blocks->position && branch != CODE_COND && branch != CODE_RETURN)
		return 0;
	blocks->open->cycles = pace_rest(blocks->pace);
	move(blocks);
	return set_time(blocks, tsc);
}

/* The last item becomes one with the run before it, or may begin one. */
static void join_run(struct blocks *blocks)
{
	struct decode_item *item = blocks->open;
	bool passes_mark = item->time >= blocks->mark;

	if (passes_mark)
		blocks->mark = item_next_mark(blocks->env->marks, item->time);
	if (blocks->env->runs && !passes_mark && item > blocks->items &&
	    item_join_run(item - 1, item)) {
		blocks->open = item - 1;
		blocks->nr--;
	} else {
		item_begin_run(item);
	}
}

static int add_block(struct blocks *blocks, const struct pt_block *block)
{
	const struct code_block *code = code_view_block(blocks->view, block);
	struct decode_item *item;
	int r;

	if (!code)
		return -ENOMEM;
	r = arrive(blocks, block->ip);
	if (r)
		return r;
	item = blocks->open = add(blocks, DECODE_BLOCK);
	item->code = code;
	item->first = code->first;
	item->insns = code->insns;
	r = READS_AHEAD ? pace_ahead(blocks) : pace_block(blocks);
	item->time = blocks->now;
	join_run(blocks);
	return r;
}

/* Whether libipt ends a block behind an instruction that is none of a branch depends on what it has
 * read of the code before, in this segment or in others: such a block is made one with the next. */
static bool is_part(const struct pt_block *block, int status)
{
	return status >= 0 && !(status & pts_event_pending) && !block->truncated &&
	       block->iclass == ptic_other;
}

static int take_block(struct blocks *blocks, struct pt_block *block, int status)
{
	struct pt_block *part = &blocks->part;

	if (part->ninsn && block->ninsn && part->ninsn + block->ninsn <= UINT16_MAX) {
		block->ip = part->ip;
		block->ninsn += part->ninsn;
		part->ninsn = 0;
	}
	if (part->ninsn) {
		int r = add_block(blocks, part);

		part->ninsn = 0;
		if (r)
			return r;
	}
	if (!block->ninsn)
		return 0;
	if (!is_part(block, status))
		return add_block(blocks, block);
	*part = *block;
	return 0;
}

/* The open item ended by something else than its code. Without one nothing was executed since the
 * branch to here. */
static struct decode_item *interrupted(struct blocks *blocks, enum decode_end end)
{
	struct decode_item *item = blocks->open;

	blocks->open = NULL;
	if (!item)
		item = add(blocks, DECODE_BLOCK);
	item->time = blocks->now;
	item->end = end;
	item->cycles += pace_rest(blocks->pace);
	return item;
}

/* At an instruction that is not executed. */
static int interrupt(struct blocks *blocks, uint64_t from, uint64_t to, enum decode_end end)
{
	const struct code_block *code = blocks->open ? blocks->open->code : NULL;
	struct decode_item *item;

	/* A branch to there has an item by itself. */
	if (!code || code->branch != CODE_NO_BRANCH ||
	    (code->length && code->last + code->length != from)) {
		int r = arrive(blocks, from);

		if (r)
			return r;
	}
	item = interrupted(blocks, end);
	item->from = from;
	item->to = to;
	blocks->flowing = to;
	return 0;
}

static void overflow(struct blocks *blocks, const struct pt_event *event)
{
	if (blocks->flowing)
		interrupted(blocks, DECODE_OVERFLOW);
	blocks->counts.overflows++;
	blocks->flowing = !event->ip_suppressed;
	blocks->lost = event->ip_suppressed;
	if (blocks->flowing)
		add(blocks, DECODE_BEGIN)->to = event->variant.overflow.ip;
}

static int enable(struct blocks *blocks, const struct pt_event *event)
{
	bool changed = is_user(event->variant.enabled.ip) ? who_in_user(&blocks->who, blocks->now)
							  : who_at(&blocks->who, blocks->now);
	int r = changed ? switched(blocks) : 0;

	if (r)
		return r;
	blocks->flowing = false;
	return arrive(blocks, event->variant.enabled.ip);
}

static int async_branch(struct blocks *blocks, const struct pt_event *event)
{
	enum decode_end end = blocks->aborted ? DECODE_TX_ABORT : DECODE_INTERRUPT;

	blocks->aborted = false;
	return interrupt(blocks, event->variant.async_branch.from, event->variant.async_branch.to,
			 end);
}

/* The state at a PSB: at the next segment's this one ends. The position of the decoder does not
 * tell which one it is, for it reads ahead. */
static int status_update(struct blocks *blocks, const struct pt_event *event)
{
	int r = 0;

	if (event->type != ptev_exec_mode)
		return 0;
	if (!event->ip_suppressed)
		r = arrive(blocks, event->variant.exec_mode.ip);
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
			interrupted(blocks, DECODE_DISABLED)->to =
				event->ip_suppressed ? 0 : event->variant.disabled.ip;
		blocks->flowing = false;
		return 0;
	case ptev_async_disabled:
		return interrupt(blocks, event->variant.async_disabled.at, 0,
				 DECODE_ASYNC_DISABLED);
	case ptev_async_branch:
		return async_branch(blocks, event);
	case ptev_overflow:
		overflow(blocks, event);
		return 0;
	case ptev_tsx:
		blocks->aborted = event->variant.tsx.aborted;
		return 0;
	default:
		return 0;
	}
}

static int use_event(struct blocks *blocks, const struct pt_event *event)
{
	/* Of what happens at a place in the code, one more. */
	static const uint8_t kinds[] = {
		[ptev_enabled] = PACE_ENABLE + 1,	  [ptev_disabled] = PACE_DISABLE + 1,
		[ptev_async_disabled] = PACE_DISABLE + 1, [ptev_async_branch] = PACE_BRANCH + 1,
		[ptev_overflow] = PACE_OVERFLOW + 1,	  [ptev_tsx] = PACE_BRANCH + 1,
	};
	int r;

	if (event->status_update)
		return status_update(blocks, event);
	/* Others come before the code that leads to their time was decoded. */
	if ((size_t)event->type >= ARRAY_SIZE(kinds) || !kinds[event->type])
		return 0;
	r = set_time(blocks, pace_last(blocks->pace, kinds[event->type] - 1));
	return r ? r : branch_event(blocks, event);
}

static int take_event(struct blocks *blocks)
{
	struct pt_event event;
	int r;

	blocks->status = pt_blk_event(blocks->decoder, &event, sizeof(event));
	if (!READS_AHEAD)
		move(blocks);
	r = blocks->status < 0 ? 0 : use_event(blocks, &event);
	if (READS_AHEAD)
		move(blocks);
	return r;
}

static void end(struct blocks *blocks)
{
	blocks->done = true;
	if (blocks->flowing)
		interrupted(blocks, DECODE_LOST);
}

/* Asked again, libipt tells where it stands. */
static int fail(struct blocks *blocks, const struct pt_block *block)
{
	struct decode_item *item;
	struct pt_block at = *block;
	int error = blocks->status;

	blocks->done = true;
	if (block->ninsn)
		(void)pt_blk_next(blocks->decoder, &at, sizeof(at));
	if (blocks->open && at.ip != block->end_ip) {
		int r = arrive(blocks, at.ip);

		if (r)
			return r;
	}
	if (blocks->open)
		interrupted(blocks, DECODE_LOST);
	/* libipt does not know that an overflow may end with the next PSB. */
	if (blocks->lost)
		return 0;
	item = add(blocks, DECODE_ERROR);
	item->from = at.ip;
	item->offset = blocks->segment.offset + position(blocks);
	item->error = (int16_t)error;
	if (!blocks->counts.errors++)
		blocks->counts.first_error = *item;
	return 0;
}

static bool is_endless(struct blocks *blocks)
{
	uint64_t before = blocks->at;

	if (++blocks->nr_blocks % BLOCKS_WITHOUT_PACKET)
		return false;
	blocks->at = position(blocks);
	return blocks->at == before;
}

static int step(struct blocks *blocks)
{
	struct pt_block block = { 0 };
	int r;

	/* It is so where it could not begin. */
	if (blocks->status < 0) {
		r = 0;
	} else if (blocks->status & pts_event_pending) {
		r = take_event(blocks);
	} else {
		blocks->status = pt_blk_next(blocks->decoder, &block, sizeof(block));
		r = take_block(blocks, &block, blocks->status);
		if (blocks->status >= 0 && is_endless(blocks))
			blocks->status = -pte_bad_query;
	}
	blocks->at_end |= blocks->status >= 0 && blocks->status & pts_eos;
	if (r || blocks->status >= 0)
		return r;
	if (blocks->status != -pte_eos && !blocks->at_end)
		return fail(blocks, &block);
	end(blocks);
	return 0;
}

static void resume(struct blocks *blocks, struct decode_item *items)
{
	blocks->items = items;
	blocks->nr = blocks->is_carried;
	blocks->open = NULL;
	if (!blocks->is_carried)
		return;
	items[0] = blocks->carried;
	blocks->open = &items[0];
}

int blocks_read(struct blocks *blocks, struct code_view *view, struct decode_item *items,
		size_t room, size_t *nr)
{
	int r;

	blocks->view = view;
	resume(blocks, items);
	r = look(blocks);
	while (!r && !blocks->done && blocks->nr + STEP_ITEMS <= room)
		r = step(blocks);
	blocks->is_carried = blocks->open && !blocks->done;
	if (blocks->is_carried)
		blocks->carried = items[--blocks->nr];
	*nr = blocks->nr;
	return r;
}
