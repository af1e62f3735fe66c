// SPDX-License-Identifier: GPL-2.0-only
/* Decodes a segment: blocks of code, and the events between them. */
#include "pt/blocks_internal.h"

#include <string.h>

#include "code/code.h"

/* Maximum number of items that one step adds. */
#define STEP_ITEMS 4

/* More blocks than this without a packet are an endless loop. */
#define BLOCKS_WITHOUT_PACKET 4096

/* libipt before 2.1 calls back for the packets of Event Trace. */
static int skip_unknown_packet(struct pt_packet_unknown *unknown, const struct pt_config *config,
			       const uint8_t *at, void *context)
{
	size_t size = timing_packet_size(at, config->end);

	return size ? (int)size : -pte_bad_opc;
}

/* Erratum SKL014: if a direct branch leaves the ranges, the trace may lack its target. */
static void set_address_filter(struct pt_conf_addr_filter *filter, const struct sideband_pt *pt)
{
	uint64_t *const bounds[][2] = {
		{ &filter->addr0_a, &filter->addr0_b },
		{ &filter->addr1_a, &filter->addr1_b },
		{ &filter->addr2_a, &filter->addr2_b },
		{ &filter->addr3_a, &filter->addr3_b },
	};

	for (size_t i = 0; i < pt->nr_ranges; i++) {
		*bounds[i][0] = pt->ranges[i].first;
		*bounds[i][1] = pt->ranges[i].last;
		filter->config.addr_cfg |= (uint64_t)(pt->ranges[i].stop ? 2 : 1) << 4 * i;
	}
}

void blocks_env_init(struct blocks_env *env, const struct sideband *sideband, uint64_t switch_to)
{
	const struct sideband_pt *pt = sideband_pt(sideband);
	struct pt_config *config = &env->config;

	*env = (struct blocks_env){ .sideband = sideband };
	pt_config_init(config);
	if (!strcmp(pt->vendor, "GenuineIntel"))
		config->cpu = (struct pt_cpu){ .vendor = pcv_intel,
					       .family = (uint16_t)pt->family,
					       .model = (uint8_t)pt->model,
					       .stepping = (uint8_t)pt->stepping };
	/* An unknown CPU has no known errata. */
	(void)pt_cpu_errata(&config->errata, &config->cpu);
	config->mtc_freq = (uint8_t)pt->mtc_period;
	config->nom_freq = (uint8_t)pt->max_nonturbo_ratio;
	config->cpuid_0x15_eax = pt->tsc_ctc_d;
	config->cpuid_0x15_ebx = pt->tsc_ctc_n;
	set_address_filter(&config->addr_filter, pt);
	config->decode.callback = skip_unknown_packet;
	config->flags.variant.block.end_on_call = 1;
	config->flags.variant.block.end_on_jump = 1;
	env->switch_to = pt->kernel ? switch_to : 0;
}

/* libipt reports events before a PSB only after it has read the PSB+ that follows. */
static int begin_block_decoder(struct blocks *blocks, const struct trace_segment *next)
{
	struct pt_config *config = &blocks->config;
	struct psb psb;

	*config = blocks->env->config;
	config->begin = (uint8_t *)blocks->segment.begin;
	config->end = (uint8_t *)blocks->segment.end;
	psb = psb_read(config->begin, config->end);
	blocks->modes = psb.modes;
	if (timing_new(&blocks->timing, sideband_pt(blocks->env->sideband), &blocks->segment,
		       blocks->segment.joined && psb.on))
		return -ENOMEM;
	blocks->joins = next && next->joined;
	if (blocks->joins)
		config->end += psb_read(config->end, blocks->segment.limit).size;
	blocks->decoder = pt_blk_alloc_decoder(config);
	if (!blocks->decoder)
		return -ENOMEM;
	/* A PSB in untraced code may lack the mode, which libipt needs. */
	blocks->broken = psb.no_mode || psb.guest;
	blocks->status = blocks->broken ? 0 : pt_blk_sync_set(blocks->decoder, 0);
	return 0;
}

int blocks_new(struct blocks **ret, const struct blocks_env *env, const struct trace_queue *queue,
	       const struct trace_segment *segment, const struct trace_segment *next)
{
	struct blocks *blocks = calloc(1, sizeof(*blocks));
	const struct sideband_task *tasks;
	int cpu = trace_queue_cpu(queue), r;
	size_t nr;

	if (!blocks)
		return -ENOMEM;
	blocks->env = env;
	blocks->clock = &sideband_pt(env->sideband)->clock;
	blocks->segment = *segment;
	blocks->now = segment->time;
	blocks->until = next && next->time ? next->time : UINT64_MAX;
	blocks->blank = (struct decode_item){ .cpu = cpu, .pid = -1, .tid = -1 };
	tasks = sideband_tasks(env->sideband, cpu, &nr);
	current_task_begin(&blocks->task, tasks, nr, blocks->now);
	r = begin_block_decoder(blocks, next);
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
	timing_free(blocks->timing);
	resume_free(blocks->resume);
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

/* The time of the open item's block, and its cycles. */
static int time_open_block(struct blocks *blocks)
{
	uint64_t tsc = timing_last_tsc(blocks->timing, TIMING_BRANCH);
	uint8_t branch = blocks->open->code->branch;

	if (!READS_AHEAD) {
		if (!blocks_move_timing(blocks))
			return 0;
		blocks->open->cycles = timing_take_cycles(blocks->timing);
		return blocks_set_time(blocks, timing_first_tsc(blocks->timing));
	}
	/* The block may have used the last branch packet that was passed. */
	if (blocks_position(blocks) == blocks->position && branch != CODE_COND &&
	    branch != CODE_RETURN)
		return 0;
	blocks->open->cycles = timing_rest_cycles(blocks->timing);
	blocks_move_timing(blocks);
	return blocks_set_time(blocks, tsc);
}

static int add_block_item(struct blocks *blocks, const struct pt_block *block)
{
	const struct code_block *code = code_view_block(blocks->view, block);
	struct decode_item *item;
	bool passes_mark;
	int err;

	if (!code)
		return -ENOMEM;
	err = blocks_arrive(blocks, block->ip);
	if (err)
		return err;
	blocks->passed = blocks->position;
	blocks->ran = true;
	item = blocks->open = blocks_add_item(blocks, DECODE_BLOCK);
	item->code = code;
	item->first = code->first;
	item->insns = code->insns;
	err = time_open_block(blocks);
	item->time = blocks->now;
	/* Merges it into the run before it. */
	passes_mark = item->time >= blocks->mark;
	if (passes_mark)
		blocks->mark = item_next_mark(blocks->env->marks, item->time);
	if (blocks->env->runs && !passes_mark && item > blocks->items &&
	    item_join_run(item - 1, item)) {
		blocks->open = item - 1;
		blocks->nr--;
	}
	return err;
}

/* libipt may end a block after an instruction that is no branch, depending on the code it has read
 * before. Such a part is merged with the next block. */
static int take_libipt_block(struct blocks *blocks, struct pt_block *block)
{
	struct pt_block *part = &blocks->part;
	bool is_part = blocks->status >= 0 && !(blocks->status & pts_event_pending) &&
		       !block->truncated && block->iclass == ptic_other;

	if (part->ninsn && block->ninsn && part->ninsn + block->ninsn <= UINT16_MAX) {
		block->ip = part->ip;
		block->ninsn += part->ninsn;
		part->ninsn = 0;
	}
	if (part->ninsn) {
		int err = add_block_item(blocks, part);

		part->ninsn = 0;
		if (err)
			return err;
	}
	if (!block->ninsn)
		return 0;
	if (!is_part)
		return add_block_item(blocks, block);
	*part = *block;
	return 0;
}

/* When asked again, libipt returns its position. */
static int add_decoding_error(struct blocks *blocks, const struct pt_block *block)
{
	struct decode_item *item;
	struct pt_block at = *block;
	int error = blocks->status;

	blocks->broken = true;
	if (block->ninsn)
		(void)pt_blk_next(blocks->decoder, &at, sizeof(at));
	if (blocks->open && at.ip != block->end_ip) {
		int err = blocks_arrive(blocks, at.ip);

		if (err)
			return err;
	}
	if (blocks->open)
		blocks_interrupted(blocks, DECODE_LOST);
	/* libipt does not know that an overflow may end at the next PSB. */
	if (blocks->lost)
		return 0;
	item = blocks_add_item(blocks, DECODE_ERROR);
	item->from = blocks->missing = at.ip;
	item->offset = blocks->segment.offset + blocks_position(blocks);
	item->error = (int16_t)error;
	item->end = pt_errcode(error) == pte_nomap ? DECODE_NO_CODE : DECODE_LOST;
	if (!blocks->counts.errors++)
		blocks->counts.first_error = *item;
	return 0;
}

/* An interrupt at an instruction, which is not executed. */
static int take_interruption(struct blocks *blocks, uint64_t from, uint64_t to, enum decode_end end)
{
	const struct code_block *code = blocks->open ? blocks->open->code : NULL;
	struct decode_item *item;

	/* A branch to this address is a separate item. */
	if (!code || code->branch != CODE_NO_BRANCH ||
	    (code->length && code->last + code->length != from)) {
		int err = blocks_arrive(blocks, from);

		if (err)
			return err;
	}
	item = blocks_interrupted(blocks, end);
	item->from = from;
	item->to = to;
	blocks->flowing = end != DECODE_ASYNC_DISABLED;
	return 0;
}

static int take_overflow_event(struct blocks *blocks, const struct pt_event *event)
{
	int err;

	if (blocks->flowing)
		blocks_interrupted(blocks, DECODE_OVERFLOW);
	blocks->counts.overflows++;
	blocks->flowing = !event->ip_suppressed;
	blocks->lost = event->ip_suppressed;
	if (!blocks->flowing)
		return 0;
	err = blocks_set_time(blocks, timing_resume_tsc(blocks->timing));
	if (!err)
		blocks_add_item(blocks, DECODE_BEGIN)->to = event->variant.overflow.ip;
	return err;
}

/* A virtual machine has its own code, of which this host knows nothing: goes on where it exits. */
static void enter_virtual_machine(struct blocks *blocks)
{
	if (blocks->open || blocks->flowing)
		blocks_interrupted(blocks, DECODE_DISABLED)->untraced = UNTRACED_GUEST;
	blocks->flowing = false;
	blocks->broken = true;
	blocks->missing = 0;
}

/* The state at a PSB. This segment ends at the next one's PSB. The decoder's position does not
 * identify it, because the decoder reads ahead. */
static int take_status_update(struct blocks *blocks, const struct pt_event *event)
{
	int err = 0;

	if (event->type != ptev_exec_mode)
		return 0;
	if (!event->ip_suppressed)
		err = blocks_arrive(blocks, event->variant.exec_mode.ip);
	if (blocks->modes || !blocks->joins) {
		blocks->modes -= blocks->modes > 0;
		return err;
	}
	blocks->counts.joined = blocks->flowing;
	blocks->counts.cycles = timing_rest_cycles(blocks->timing);
	blocks->done = true;
	return err;
}

static int take_branch_event(struct blocks *blocks, const struct pt_event *event)
{
	enum decode_end end;
	int err;

	switch (event->type) {
	case ptev_enabled:
		err = blocks_go_on(blocks, event->variant.enabled.ip);
		if (err)
			return err;
		blocks->flowing = false;
		return blocks_arrive(blocks, event->variant.enabled.ip);
	case ptev_disabled:
		if (blocks->flowing)
			blocks_interrupted(blocks, DECODE_DISABLED)->to =
				event->ip_suppressed ? 0 : event->variant.disabled.ip;
		blocks->flowing = false;
		return 0;
	case ptev_async_disabled:
		return take_interruption(blocks, event->variant.async_disabled.at,
					 event->ip_suppressed ? 0
							      : event->variant.async_disabled.ip,
					 DECODE_ASYNC_DISABLED);
	case ptev_async_branch:
		end = blocks->aborted ? DECODE_TX_ABORT : DECODE_INTERRUPT;
		blocks->aborted = false;
		return take_interruption(blocks, event->variant.async_branch.from,
					 event->variant.async_branch.to, end);
	case ptev_overflow:
		return take_overflow_event(blocks, event);
	case ptev_tsx:
		blocks->aborted = event->variant.tsx.aborted;
		return 0;
	default:
		return 0;
	}
}

/* The event that the decoder has. Only some kinds have a place in the code; other events precede
 * the code that was executed until their time. */
static int take_decoder_event(struct blocks *blocks)
{
	/* Kinds of packets for events at an address. */
	static const uint8_t kinds[] = {
		[ptev_enabled] = TIMING_ENABLE + 1,	    [ptev_disabled] = TIMING_DISABLE + 1,
		[ptev_async_disabled] = TIMING_DISABLE + 1, [ptev_async_branch] = TIMING_BRANCH + 1,
		[ptev_overflow] = TIMING_OVERFLOW + 1,	    [ptev_tsx] = TIMING_BRANCH + 1,
	};
	struct pt_event event;
	int err = 0;

	blocks->status = pt_blk_event(blocks->decoder, &event, sizeof(event));
	if (!READS_AHEAD)
		blocks_move_timing(blocks);
	if (blocks->status < 0) {
		err = 0;
	} else if (event.status_update) {
		err = take_status_update(blocks, &event);
	} else if (event.type == ptev_paging && event.variant.paging.non_root) {
		blocks->passed = blocks_position(blocks);
		err = blocks_set_time(blocks, timing_now_tsc(blocks->timing));
		enter_virtual_machine(blocks);
	} else if ((size_t)event.type < ARRAY_SIZE(kinds) && kinds[event.type]) {
		blocks->passed = blocks_position(blocks);
		err = blocks_set_time(blocks,
				      timing_last_tsc(blocks->timing, kinds[event.type] - 1));
		err = err ?: take_branch_event(blocks, &event);
	}
	if (READS_AHEAD)
		blocks_move_timing(blocks);
	return err;
}

/* Recreates libipt's decoder, once, for a copy of the trace. */
static int begin_resumption(struct blocks *blocks)
{
	int err = resume_new(&blocks->resume, &blocks->config);

	if (err)
		return err;
	pt_blk_free_decoder(blocks->decoder);
	blocks->decoder = pt_blk_alloc_decoder(&blocks->config);
	return blocks->decoder ? blocks_update_image(blocks) : -ENOMEM;
}

/* Later returns are resolved if their calls come after this point. */
static int resume_decoding(struct blocks *blocks)
{
	uint64_t end = (uint64_t)(blocks->segment.end - blocks->segment.begin);
	struct resume_point point;
	bool found;
	int err = blocks->resume ? 0 : begin_resumption(blocks);

	blocks->part.ninsn = 0;
	found = !err && resume_find(blocks->resume, blocks->passed, &point);
	/* Reports the branch to missing code only once. */
	if (found && blocks->ran && point.ip == blocks->missing && !point.is_event)
		found = resume_find(blocks->resume, blocks->passed, &point);
	if (!found || point.offset > end) {
		blocks->done = true;
		return err;
	}
	blocks->broken = blocks->ran = blocks->flowing = blocks->aborted = false;
	blocks->counts.overflows += point.overflowed;
	timing_move(blocks->timing, point.offset);
	err = blocks_set_time(blocks, timing_now_tsc(blocks->timing));
	err = err ?: blocks_go_on(blocks, point.ip);
	blocks->modes = 1;
	blocks->status = pt_blk_sync_set(blocks->decoder, resume_write(blocks->resume, &point));
	return err;
}

static bool is_endless_loop(struct blocks *blocks)
{
	uint64_t before = blocks->at;

	if (++blocks->nr_blocks % BLOCKS_WITHOUT_PACKET)
		return false;
	blocks->at = blocks_position(blocks);
	return blocks->at == before;
}

int blocks_read(struct blocks *blocks, struct code_view *view, struct decode_item *items,
		size_t room, size_t *nr)
{
	int err;

	blocks->view = view;
	blocks->items = items;
	blocks->nr = blocks->is_carried;
	blocks->open = blocks->is_carried ? items : NULL;
	if (blocks->is_carried)
		items[0] = blocks->carried;
	err = blocks_update_image(blocks);
	while (!err && !blocks->done && blocks->nr + STEP_ITEMS <= room) {
		struct pt_block block = { 0 };
		bool endless = false;

		if (blocks->broken) {
			err = resume_decoding(blocks);
			continue;
		}
		/* Below 0, the decoder could not begin there. */
		if (blocks->status >= 0 && blocks->status & pts_event_pending) {
			err = take_decoder_event(blocks);
		} else if (blocks->status >= 0) {
			blocks->status = pt_blk_next(blocks->decoder, &block, sizeof(block));
			err = take_libipt_block(blocks, &block);
			endless = blocks->status >= 0 && is_endless_loop(blocks);
			if (endless)
				blocks->status = -pte_bad_query;
		}
		blocks->at_end |= blocks->status >= 0 && blocks->status & pts_eos;
		if (err || blocks->status >= 0)
			continue;
		if (blocks->status != -pte_eos && !blocks->at_end) {
			/* The rest of a damaged trace would take equally long. */
			blocks->done = endless;
			err = add_decoding_error(blocks, &block);
			continue;
		}
		blocks->done = true;
		if (blocks->flowing)
			blocks_interrupted(blocks, DECODE_LOST);
	}
	blocks->is_carried = blocks->open && !blocks->done;
	if (blocks->is_carried)
		blocks->carried = items[--blocks->nr];
	*nr = blocks->nr;
	return err;
}
