// SPDX-License-Identifier: GPL-2.0-only
#include "pt/item.h"

#include "code/code.h"
#include "test.h"

static const struct symbol function = { .start = 0x1000, .end = 0x9000 }, other;

static struct decode_item block(const struct code_block *code, uint64_t time)
{
	return (struct decode_item){
		.kind = DECODE_BLOCK,
		.code = code,
		.first = code->first,
		.insns = code->insns,
		.cycles = 3,
		.time = time,
		.pid = 1,
		.tid = 2,
	};
}

/* A block of the function, with 8 instructions in 32 bytes. */
static struct code_block code_at(uint64_t ip, const struct symbol *symbol)
{
	return (struct code_block){
		.first = ip, .last = ip + 28, .length = 4, .insns = 8, .symbol = symbol
	};
}

static struct decode_item run_from(const struct code_block *code, uint64_t to)
{
	struct decode_item run = block(code, 10);

	run.to = to;
	run.end = DECODE_JUMP;
	return run;
}

TEST(joins_blocks_of_one_function)
{
	struct code_block first = code_at(0x1030, &function), next = code_at(0x1fe8, &function);
	struct decode_item run = run_from(&first, 0x1fe8), item = block(&next, 20);

	assert_true(item_join_run(&run, &item));
	assert_ptr_equal(run.code, &next);
	assert_int_equal(run.first, 0x1030);
	assert_int_equal(run.time, 20);
	assert_int_equal(run.insns, 16);
	assert_int_equal(run.cycles, 6);
	/* The run's end is shown. */
	assert_int_equal(run.to, 0);
	assert_int_equal(run.end, DECODE_ON);
}

TEST(joins_nothing_else)
{
	struct code_block first = code_at(0x1000, &function), next = code_at(0x2000, &function);
	struct code_block elsewhere = code_at(0x2000, &other), rows = code_at(0x2000, NULL);
	struct decode_item run = run_from(&first, 0x2000), same = run, item = block(&next, 20);

	item.tid = 3;
	assert_false(item_join_run(&run, &item));
	item = block(&elsewhere, 20);
	assert_false(item_join_run(&run, &item));
	item = block(&rows, 20);
	assert_false(item_join_run(&run, &item));
	item = block(&next, 20);
	item.first = 0x2004;
	assert_false(item_join_run(&run, &item));
	assert_memory_equal(&run, &same, sizeof(run));
	item.first = 0x2000;
	run.end = DECODE_CALL;
	assert_false(item_join_run(&run, &item));
}

TEST(tells_the_next_mark)
{
	static const uint64_t marks[DECODE_MARKS] = { 50, 0, 20, UINT64_MAX };

	assert_int_equal(item_next_mark(marks, 0), 20);
	assert_int_equal(item_next_mark(marks, 19), 20);
	assert_int_equal(item_next_mark(marks, 20), 50);
	assert_int_equal(item_next_mark(marks, 50), UINT64_MAX);
}

TEST(counts_no_more_cycles_than_fit)
{
	struct decode_item item = { .cycles = UINT32_MAX - 5 };

	item_add_cycles(&item, 4);
	assert_int_equal(item.cycles, UINT32_MAX - 1);
	item_add_cycles(&item, UINT32_MAX);
	assert_int_equal(item.cycles, UINT32_MAX);
}
