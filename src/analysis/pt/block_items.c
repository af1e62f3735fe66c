// SPDX-License-Identifier: GPL-2.0-only
/* What blocks and events add to the items of a segment, and which task they belong to. */
#include "pt/blocks_internal.h"

#include <intel-pt.h>
#include <inttypes.h>
#include <stdio.h>

#include "array.h"
#include "code/code.h"

static enum decode_end end_of_conditional(const struct code_block *code, uint64_t to)
{
	uint64_t most = code->length ? code->length : pt_max_insn_size;

	return to > code->last && to - code->last <= most ? DECODE_ON : DECODE_JUMP;
}

enum decode_end item_end(const struct code_block *code, uint64_t to)
{
	static const uint8_t ends[] = {
		[CODE_NO_BRANCH] = DECODE_ON,	 [CODE_JUMP] = DECODE_JUMP,
		[CODE_CALL] = DECODE_CALL,	 [CODE_RETURN] = DECODE_RETURN,
		[CODE_SYSCALL] = DECODE_SYSCALL, [CODE_SYSRET] = DECODE_SYSRET,
		[CODE_IRET] = DECODE_IRET,	 [CODE_INT] = DECODE_INTERRUPT,
		[CODE_OTHER] = DECODE_JUMP,	 [CODE_VM_ENTRY] = DECODE_JUMP,
	};

	return code->branch == CODE_COND ? end_of_conditional(code, to) : ends[code->branch];
}

uint64_t item_next_mark(const uint64_t marks[DECODE_MARKS], uint64_t time)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < DECODE_MARKS; i++) {
		if (marks[i] > time && marks[i] < next)
			next = marks[i];
	}
	return next;
}

/* Limit for counts of 32 bits. */
#define COUNT_MAX (UINT32_MAX / 4)

static bool run_continues_with(const struct decode_item *run, const struct decode_item *item)
{
	return run->kind == DECODE_BLOCK && run->end <= DECODE_JUMP && run->code &&
	       run->code->symbol && run->code->symbol == item->code->symbol &&
	       run->to == item->first && run->pid == item->pid && run->tid == item->tid &&
	       (run->insns | run->cycles | item->cycles) < COUNT_MAX;
}

bool item_join_run(struct decode_item *run, const struct decode_item *item)
{
	if (!run_continues_with(run, item))
		return false;
	run->code = item->code;
	run->insns += item->insns;
	run->cycles += item->cycles;
	run->time = item->time;
	run->to = 0;
	run->end = DECODE_ON;
	return true;
}

void decode_error_text(int error, uint64_t ip, char *text, size_t size)
{
	const char *why = pt_errstr(pt_errcode(error));

	if (pt_errcode(error) == pte_nomap)
		snprintf(text, size, "code of 0x%" PRIx64 " is not in the capture", ip);
	else if (ip)
		snprintf(text, size, "the trace does not fit the code at 0x%" PRIx64 " (%s)", ip,
			 why);
	else
		snprintf(text, size, "the trace cannot be decoded (%s)", why);
}

/* Returns whether the task is another one. */
static bool set_current_task(struct current_task *current, size_t nr)
{
	const struct sideband_task *task;

	if (current->next == nr)
		return false;
	current->midway = current->midway && nr == current->next + 1;
	current->next = nr;
	task = &current->tasks[nr - 1];
	if (current->pid == task->pid && current->tid == task->tid)
		return false;
	current->pid = task->pid;
	current->tid = task->tid;
	return true;
}

void current_task_begin(struct current_task *current, const struct sideband_task *tasks, size_t nr,
			uint64_t time)
{
	size_t low = ARRAY_COUNT_BEFORE(nr, i, tasks[i].latest <= time);

	*current = (struct current_task){ .tasks = tasks, .nr = nr, .pid = -1, .tid = -1 };
	set_current_task(current, low);
	current->midway = low < nr && tasks[low].time <= time;
}

/* Advances by time only. True: another task runs. */
static bool advance_current_task(struct current_task *current, uint64_t time)
{
	size_t next = current->next;

	while (next < current->nr && current->tasks[next].latest <= time)
		next++;
	return set_current_task(current, next);
}

/* The same in user space, where no switch from before `time` is in progress. */
static bool advance_task_in_user(struct current_task *current, uint64_t time)
{
	size_t next = current->next;

	while (next < current->nr && current->tasks[next].time <= time)
		next++;
	return set_current_task(current, next);
}

/* At a branch to __switch_to, up to `until`. `time` is that of the last packet with time: the
 * branch may be later. True: another task runs. */
static bool switch_current_task(struct current_task *current, uint64_t time, uint64_t until)
{
	bool changed = advance_current_task(current, time);

	current->midway = false;
	if (current->next < current->nr && current->tasks[current->next].time <= until)
		changed |= set_current_task(current, current->next + 1);
	return changed;
}

/* Finds out whether another task runs, or the mappings have changed. */
int blocks_update_image(struct blocks *blocks)
{
	const struct current_task *task = &blocks->task;
	struct pt_image *image;
	uint64_t until;

	blocks->blank.pid = task->pid;
	blocks->blank.tid = task->tid;
	image = code_view_image(blocks->view, task->pid, blocks->now, &until);
	if (!image)
		return -ENOMEM;
	pt_blk_set_image(blocks->decoder, image);
	if (task->next < task->nr && task->tasks[task->next].latest < until)
		until = task->tasks[task->next].latest;
	blocks->check = until;
	return 0;
}

static int apply_task_switch(struct blocks *blocks)
{
	if (!blocks->task.midway)
		return blocks_update_image(blocks);
	/* The segment began during a task switch, and no branch to __switch_to was seen since: that
	 * branch came earlier. */
	blocks->task.midway = false;
	for (size_t i = 0; i < blocks->nr; i++) {
		blocks->items[i].pid = blocks->task.pid;
		blocks->items[i].tid = blocks->task.tid;
	}
	return blocks_update_image(blocks);
}

bool blocks_move_timing(struct blocks *blocks)
{
	bool branched;

	blocks->position = blocks_position(blocks);
	branched = timing_move(blocks->timing, blocks->position);
	if (READS_AHEAD)
		timing_pass_next(blocks->timing);
	return branched;
}

static void count_time_step(struct blocks_steps *steps, uint64_t step_ns)
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
		count_time_step(&blocks->counts.steps, now - blocks->now);
	blocks->now = now;
	if (now < blocks->check)
		return 0;
	return advance_current_task(&blocks->task, now) ? apply_task_switch(blocks)
							: blocks_update_image(blocks);
}

static bool is_user_code(uint64_t ip)
{
	return !(ip >> 63);
}

int blocks_go_on(struct blocks *blocks, uint64_t ip)
{
	struct current_task *current = &blocks->task;
	bool changed;

	if (is_user_code(ip))
		changed = advance_task_in_user(current, blocks->now);
	else if (ip == blocks->env->switch_to)
		changed = switch_current_task(current, blocks->now, blocks->until);
	else
		changed = advance_current_task(current, blocks->now);
	return changed ? apply_task_switch(blocks) : 0;
}

/* Execution continues at `to`: completes the open item. */
static int close_open_item(struct blocks *blocks, uint64_t to)
{
	struct decode_item *open = blocks->open;
	bool changed = false;

	blocks->open = NULL;
	open->to = to;
	open->end = item_end(open->code, to);
	if (open->end == DECODE_INTERRUPT)
		open->from = open->code->last + open->code->length;
	if (to == blocks->env->switch_to && to)
		changed = switch_current_task(&blocks->task, blocks->now, blocks->until);
	else if ((open->end == DECODE_SYSRET || open->end == DECODE_IRET) && is_user_code(to))
		changed = advance_task_in_user(&blocks->task, blocks->now);
	return changed ? apply_task_switch(blocks) : 0;
}

int blocks_arrive(struct blocks *blocks, uint64_t ip)
{
	if (blocks->open)
		return close_open_item(blocks, ip);
	if (!blocks->flowing)
		blocks_add_item(blocks, DECODE_BEGIN)->to = ip;
	blocks->flowing = true;
	blocks->lost = false;
	return 0;
}

struct decode_item *blocks_interrupted(struct blocks *blocks, enum decode_end end)
{
	struct decode_item *item = blocks->open;

	blocks->open = NULL;
	if (!item)
		item = blocks_add_item(blocks, DECODE_BLOCK);
	item->time = blocks->now;
	item->end = end;
	item_add_cycles(item, timing_rest_cycles(blocks->timing));
	if (end == DECODE_DISABLED || end == DECODE_ASYNC_DISABLED)
		item->untraced = (int16_t)timing_untraced(blocks->timing);
	return item;
}
