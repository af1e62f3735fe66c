// SPDX-License-Identifier: GPL-2.0-only
#include "pt/blocks_internal.h"

#include <string.h>

#include "code/code.h"
#include "pt/psb.h"

/* Maximum number of items that one step adds. */
#define STEP_ITEMS 4

/* More blocks than this without a packet are an endless loop. */
#define BLOCKS_WITHOUT_PACKET 4096

/* libipt before 2.1 calls back for the packets of Event Trace. */
static int skip_packet(struct pt_packet_unknown *unknown, const struct pt_config *config,
		       const uint8_t *at, void *context)
{
	size_t size = pace_packet_size(at, config->end);

	return size ? (int)size : -pte_bad_opc;
}

/* Erratum SKL014: if a direct branch leaves the ranges, the trace may lack its target. */
static void set_filter(struct pt_conf_addr_filter *filter, const struct sideband_pt *pt)
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
	set_filter(&config->addr_filter, pt);
	config->decode.callback = skip_packet;
	config->flags.variant.block.end_on_call = 1;
	config->flags.variant.block.end_on_jump = 1;
	env->switch_to = pt->kernel ? switch_to : 0;
}

static void begin_who(struct blocks *blocks, const struct trace_queue *queue)
{
	int cpu = trace_cpu(queue);
	size_t nr;
	const struct sideband_task *tasks = sideband_tasks(blocks->env->sideband, cpu, &nr);

	blocks->blank = (struct decode_item){ .cpu = cpu, .pid = -1, .tid = -1 };
	who_begin(&blocks->who, tasks, nr, blocks->now);
}

/* libipt reports events before a PSB only after it has read the PSB+ that follows. */
static int begin_decoder(struct blocks *blocks, const struct trace_segment *next)
{
	struct pt_config *config = &blocks->config;
	struct psb psb;

	*config = blocks->env->config;
	config->begin = (uint8_t *)blocks->segment.begin;
	config->end = (uint8_t *)blocks->segment.end;
	psb = psb_read(config->begin, config->end);
	blocks->modes = psb.modes;
	if (pace_new(&blocks->pace, sideband_pt(blocks->env->sideband), &blocks->segment,
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

struct decode_item *blocks_add(struct blocks *blocks, enum decode_kind kind)
{
	struct decode_item *item = &blocks->items[blocks->nr++];

	*item = blocks->blank;
	item->time = blocks->now;
	item->kind = kind;
	return item;
}

/* Finds out whether another task runs, or the mappings have changed. */
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

/* The segment began during a task switch, and no branch to __switch_to was seen since: that branch
 * came earlier. */
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

uint64_t blocks_position(const struct blocks *blocks)
{
	uint64_t offset = 0;

	(void)pt_blk_get_offset(blocks->decoder, &offset);
	return blocks->resume ? resume_offset(offset) : offset;
}

bool blocks_move(struct blocks *blocks)
{
	bool branched;

	blocks->position = blocks_position(blocks);
	branched = pace_move(blocks->pace, blocks->position);
	if (READS_AHEAD)
		pace_pass(blocks->pace);
	return branched;
}

static void count_step(struct blocks_steps *steps, uint64_t step_ns)
{
	unsigned int i = 63 - (unsigned int)__builtin_clzll(step_ns);

	if (i >= BLOCKS_STEPS)
		i = BLOCKS_STEPS - 1;
	steps->nr[i]++;
	steps->sum_ns[i] += step_ns;
}

int blocks_set_time(struct blocks *blocks, uint64_t tsc)
{
	uint64_t now = tsc ? trace_clock_ns(blocks->clock, tsc) : 0;

	if (now <= blocks->now)
		return 0;
	if (blocks->flowing)
		count_step(&blocks->counts.steps, now - blocks->now);
	blocks->now = now;
	if (now < blocks->check)
		return 0;
	return who_at(&blocks->who, now) ? switched(blocks) : look(blocks);
}

static bool is_user(uint64_t ip)
{
	return !(ip >> 63);
}

int blocks_go_on(struct blocks *blocks, uint64_t ip)
{
	struct who *who = &blocks->who;
	bool changed;

	if (is_user(ip))
		changed = who_in_user(who, blocks->now);
	else if (ip == blocks->env->switch_to)
		changed = who_switch(who, blocks->now, blocks->until);
	else
		changed = who_at(who, blocks->now);
	return changed ? switched(blocks) : 0;
}

/* Execution continues at `to`: completes the open item. */
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

int blocks_arrive(struct blocks *blocks, uint64_t ip)
{
	if (blocks->open)
		return close_open(blocks, ip);
	if (!blocks->flowing)
		blocks_add(blocks, DECODE_BEGIN)->to = ip;
	blocks->flowing = true;
	blocks->lost = false;
	return 0;
}

static int pace_block(struct blocks *blocks)
{
	if (!blocks_move(blocks))
		return 0;
	blocks->open->cycles = pace_take(blocks->pace);
	return blocks_set_time(blocks, pace_first(blocks->pace));
}

/* The block may have used the last branch packet that was passed. */
static int pace_ahead(struct blocks *blocks)
{
	uint64_t tsc = pace_last(blocks->pace, PACE_BRANCH);
	uint8_t branch = blocks->open->code->branch;

	if (blocks_position(blocks) == blocks->position && branch != CODE_COND &&
	    branch != CODE_RETURN)
		return 0;
	blocks->open->cycles = pace_rest(blocks->pace);
	blocks_move(blocks);
	return blocks_set_time(blocks, tsc);
}

/* Merges the last item into the run before it. */
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
	}
}

static int add_block(struct blocks *blocks, const struct pt_block *block)
{
	const struct code_block *code = code_view_block(blocks->view, block);
	struct decode_item *item;
	int r;

	if (!code)
		return -ENOMEM;
	r = blocks_arrive(blocks, block->ip);
	if (r)
		return r;
	blocks->passed = blocks->position;
	blocks->ran = true;
	item = blocks->open = blocks_add(blocks, DECODE_BLOCK);
	item->code = code;
	item->first = code->first;
	item->insns = code->insns;
	r = READS_AHEAD ? pace_ahead(blocks) : pace_block(blocks);
	item->time = blocks->now;
	join_run(blocks);
	return r;
}

/* libipt may end a block after an instruction that is no branch, depending on the code it has read
 * before. Such a block is merged with the next one. */
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

static void end(struct blocks *blocks)
{
	blocks->done = true;
	if (blocks->flowing)
		blocks_interrupted(blocks, DECODE_LOST);
}

/* When asked again, libipt returns its position. */
static int fail(struct blocks *blocks, const struct pt_block *block)
{
	struct decode_item *item;
	struct pt_block at = *block;
	int error = blocks->status;

	blocks->broken = true;
	if (block->ninsn)
		(void)pt_blk_next(blocks->decoder, &at, sizeof(at));
	if (blocks->open && at.ip != block->end_ip) {
		int r = blocks_arrive(blocks, at.ip);

		if (r)
			return r;
	}
	if (blocks->open)
		blocks_interrupted(blocks, DECODE_LOST);
	/* libipt does not know that an overflow may end at the next PSB. */
	if (blocks->lost)
		return 0;
	item = blocks_add(blocks, DECODE_ERROR);
	item->from = blocks->missing = at.ip;
	item->offset = blocks->segment.offset + blocks_position(blocks);
	item->error = (int16_t)error;
	item->end = pt_errcode(error) == pte_nomap ? DECODE_NO_CODE : DECODE_LOST;
	if (!blocks->counts.errors++)
		blocks->counts.first_error = *item;
	return 0;
}

/* Recreates libipt's decoder, once, for a copy of the trace. */
static int begin_resume(struct blocks *blocks)
{
	int r = resume_new(&blocks->resume, &blocks->config);

	if (r)
		return r;
	pt_blk_free_decoder(blocks->decoder);
	blocks->decoder = pt_blk_alloc_decoder(&blocks->config);
	return blocks->decoder ? look(blocks) : -ENOMEM;
}

/* Later returns are resolved if their calls come after this point. */
static int resume(struct blocks *blocks)
{
	uint64_t end = (uint64_t)(blocks->segment.end - blocks->segment.begin);
	struct resume_point point;
	bool found;
	int r = blocks->resume ? 0 : begin_resume(blocks);

	blocks->part.ninsn = 0;
	found = !r && resume_find(blocks->resume, blocks->passed, &point);
	/* Reports the branch to missing code only once. */
	if (found && blocks->ran && point.ip == blocks->missing && !point.is_event)
		found = resume_find(blocks->resume, blocks->passed, &point);
	if (!found || point.offset > end) {
		blocks->done = true;
		return r;
	}
	blocks->broken = blocks->ran = blocks->flowing = blocks->aborted = false;
	blocks->counts.overflows += point.overflowed;
	pace_move(blocks->pace, point.offset);
	r = blocks_set_time(blocks, pace_now(blocks->pace));
	r = r ?: blocks_go_on(blocks, point.ip);
	blocks->modes = 1;
	blocks->status = pt_blk_sync_set(blocks->decoder, resume_write(blocks->resume, &point));
	return r;
}

static bool is_endless(struct blocks *blocks)
{
	uint64_t before = blocks->at;

	if (++blocks->nr_blocks % BLOCKS_WITHOUT_PACKET)
		return false;
	blocks->at = blocks_position(blocks);
	return blocks->at == before;
}

static int step(struct blocks *blocks)
{
	struct pt_block block = { 0 };
	bool endless = false;
	int r;

	if (blocks->broken)
		return resume(blocks);
	/* The decoder could not begin there. */
	if (blocks->status < 0) {
		r = 0;
	} else if (blocks->status & pts_event_pending) {
		r = blocks_take_event(blocks);
	} else {
		blocks->status = pt_blk_next(blocks->decoder, &block, sizeof(block));
		r = take_block(blocks, &block, blocks->status);
		endless = blocks->status >= 0 && is_endless(blocks);
		if (endless)
			blocks->status = -pte_bad_query;
	}
	blocks->at_end |= blocks->status >= 0 && blocks->status & pts_eos;
	if (r || blocks->status >= 0)
		return r;
	if (blocks->status != -pte_eos && !blocks->at_end) {
		/* The rest of a damaged trace would take equally long. */
		blocks->done = endless;
		return fail(blocks, &block);
	}
	end(blocks);
	return 0;
}

static void go_on(struct blocks *blocks, struct decode_item *items)
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
	go_on(blocks, items);
	r = look(blocks);
	while (!r && !blocks->done && blocks->nr + STEP_ITEMS <= room)
		r = step(blocks);
	blocks->is_carried = blocks->open && !blocks->done;
	if (blocks->is_carried)
		blocks->carried = items[--blocks->nr];
	*nr = blocks->nr;
	return r;
}
