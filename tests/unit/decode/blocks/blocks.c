// SPDX-License-Identifier: GPL-2.0-only
/* Short segments, written by libipt's encoder. */
#include "blocks/blocks.h"

#include <stdio.h>
#include <string.h>

#include "code/code.h"
#include "end_names.h"
#include "test.h"

#define BASE 0xffffffff81000000ull
#define SIZE 0x400
#define TRACE_SIZE 4096

/* Offsets of functions. */
#define MAIN 0x000
#define CALLED 0x100
#define HANDLER 0x200
#define SWITCH_TO 0x300
#define ENDLESS 0x340

static const struct {
	uint16_t at;
	uint8_t length, branch;
	uint8_t bytes[8];
} insns[] = {
	{ 0x000, 1, CODE_NO_BRANCH, { 0x90 } },
	{ 0x001, 1, CODE_NO_BRANCH, { 0x90 } },
	{ 0x002, 5, CODE_CALL, { 0xe8, 0xf9, 0, 0, 0 } }, /* 0x100 */
	{ 0x007, 2, CODE_COND, { 0x74, 0x17 } },	  /* 0x020 */
	{ 0x009, 2, CODE_JUMP, { 0xeb, 0x15 } },	  /* 0x020 */
	{ 0x020, 1, CODE_NO_BRANCH, { 0x90 } },
	{ 0x021, 2, CODE_SYSCALL, { 0x0f, 0x05 } },
	{ 0x023, 5, CODE_CALL, { 0xe8, 0xd8, 0x02, 0, 0 } }, /* 0x300 */
	{ 0x028, 5, CODE_JUMP, { 0xe9, 0xd3, 0x0f, 0, 0 } }, /* 0x1000: no code */
	{ 0x100, 1, CODE_NO_BRANCH, { 0x90 } },
	{ 0x101, 1, CODE_RETURN, { 0xc3 } },
	{ 0x200, 1, CODE_NO_BRANCH, { 0x90 } },
	{ 0x201, 2, CODE_IRET, { 0x48, 0xcf } },
	{ 0x300, 1, CODE_NO_BRANCH, { 0x90 } },
	{ 0x301, 1, CODE_RETURN, { 0xc3 } },
	{ 0x340, 2, CODE_JUMP, { 0xeb, 0xfe } },
	{ 0x360, 3, CODE_OTHER, { 0x0f, 0x01, 0xc2 } }, /* vmlaunch */
};

static uint8_t memory[SIZE];
static struct pt_image *image;
static struct code_block blocks_seen[20000];
static size_t nr_seen;
static struct sideband_pt pt;
static struct sideband_task tasks[8];
static size_t nr_tasks;
static int image_pid;

static int read_memory(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip,
		       void *context)
{
	if (ip < BASE || ip >= BASE + SIZE)
		return -pte_nomap;
	if (size > BASE + SIZE - ip)
		size = BASE + SIZE - ip;
	memcpy(buffer, memory + (ip - BASE), size);
	return (int)size;
}

struct pt_image *code_view_image(struct code_view *view, int pid, uint64_t time, uint64_t *until)
{
	image_pid = pid;
	*until = UINT64_MAX;
	return image;
}

const struct code_block *code_view_block(struct code_view *view, const struct pt_block *block)
{
	struct code_block *code = &blocks_seen[nr_seen++];

	assert_true(nr_seen < ARRAY_SIZE(blocks_seen));
	*code = (struct code_block){ .first = block->ip,
				     .last = block->end_ip,
				     .insns = block->ninsn };
	for (size_t i = 0; i < ARRAY_SIZE(insns); i++) {
		if (BASE + insns[i].at == block->end_ip) {
			code->length = insns[i].length;
			code->branch = insns[i].branch;
		}
	}
	return code;
}

const struct sideband_pt *sideband_pt(const struct sideband *sb)
{
	return &pt;
}

const struct sideband_task *sideband_tasks(const struct sideband *sb, int cpu, size_t *nr)
{
	assert_int_equal(cpu, 3);
	*nr = nr_tasks;
	return tasks;
}

struct trace_whose trace_whose(const struct trace_queue *queue)
{
	return (struct trace_whose){ .cpu = 3, .pid = -1, .tid = -1 };
}

static uint8_t trace[TRACE_SIZE];
static struct pt_encoder *encoder;
static struct trace_segment segments[16];
static size_t nr_segments;
static struct blocks_env env;

static int set_up(void **state)
{
	struct pt_config config;

	memset(memory, 0xf4, sizeof(memory));
	for (size_t i = 0; i < ARRAY_SIZE(insns); i++)
		memcpy(memory + insns[i].at, insns[i].bytes, insns[i].length);
	pt = (struct sideband_pt){ .found = true, .kernel = true, .clock = { .mult = 1 } };
	pt_config_init(&config);
	memset(trace, 0, sizeof(trace));
	config.begin = trace;
	config.end = trace + sizeof(trace);
	encoder = pt_alloc_encoder(&config);
	image = pt_image_alloc("test");
	pt_image_set_callback(image, read_memory, NULL);
	nr_segments = nr_seen = nr_tasks = 0;
	return !encoder || !image;
}

static int tear_down(void **state)
{
	pt_free_encoder(encoder);
	pt_image_free(image);
	return 0;
}

static void put(struct pt_packet packet)
{
	assert_true(pt_enc_next(encoder, &packet) > 0);
}

static void put_ip(enum pt_packet_type type, uint64_t at)
{
	put((struct pt_packet){ .type = type,
				.payload.ip = { .ipc = pt_ipc_full, .ip = BASE + at } });
}

static void put_no_ip(enum pt_packet_type type)
{
	put((struct pt_packet){ .type = type, .payload.ip = { .ipc = pt_ipc_suppressed } });
}

static void put_tnt(unsigned int size, uint64_t bits)
{
	put((struct pt_packet){ .type = ppt_tnt_8,
				.payload.tnt = { .bit_size = (uint8_t)size, .payload = bits } });
}

static void put_tsc(uint64_t tsc)
{
	put((struct pt_packet){ .type = ppt_tsc, .payload.tsc.tsc = tsc });
}

static void put_mode(void)
{
	put((struct pt_packet){ .type = ppt_mode,
				.payload.mode = { .leaf = pt_mol_exec, .bits.exec.csl = 1 } });
}

static void put_tsx(bool in, bool aborted)
{
	put((struct pt_packet){ .type = ppt_mode,
				.payload.mode = { .leaf = pt_mol_tsx,
						  .bits.tsx = { .intx = in, .abrt = aborted } } });
}

static void put_cyc(uint64_t cycles)
{
	put((struct pt_packet){ .type = ppt_cyc, .payload.cyc.value = cycles });
}

static const uint8_t *here(void)
{
	uint64_t offset = 0;

	assert_return_code(pt_enc_get_offset(encoder, &offset), 0);
	return trace + offset;
}

/* libipt's encoder of 2.0 does not know all packets. */
static void put_bytes(const char *bytes, size_t size)
{
	size_t offset = (size_t)(here() - trace);

	memcpy(trace + offset, bytes, size);
	assert_return_code(pt_enc_sync_set(encoder, offset + size), 0);
}

/* Begins a segment at `at`; negative: tracing is off. */
static void put_psb(int at, uint64_t tsc)
{
	struct trace_segment *segment = &segments[nr_segments++];

	*segment = (struct trace_segment){
		.begin = here(),
		.tsc = tsc,
		.time = tsc,
		.joined = nr_segments > 1,
		.offset = (uint64_t)(here() - trace),
	};
	put((struct pt_packet){ .type = ppt_psb });
	/* In the order of current CPUs. */
	if (at >= 0) {
		put_mode();
		put_ip(ppt_fup, (uint64_t)at);
	}
	put_tsc(tsc);
	put((struct pt_packet){ .type = ppt_cbr, .payload.cbr.ratio = 20 });
	put((struct pt_packet){ .type = ppt_psbend });
}

static unsigned int offset_of(uint64_t ip)
{
	return ip ? (unsigned int)(ip - BASE) : 0xfff;
}

static void print_wrong(FILE *file, const struct decode_item *item)
{
	char text[128];

	decode_error_text(item->error, item->from, text, sizeof(text));
	assert_in_range(item->offset, segments[0].offset, segments[nr_segments - 1].offset + 200);
	fprintf(file, "%s", text);
}

static void print(FILE *file, const struct decode_item *item)
{
	static const char *const places[] = { "", "SMI", "guest", "hypervisor" };

	assert_int_equal(item->cpu, 3);
	if (item->kind == DECODE_BEGIN)
		fprintf(file, "begin %x", offset_of(item->to));
	else if (item->kind == DECODE_ERROR)
		print_wrong(file, item);
	else if (item->code)
		fprintf(file, "%x-%x %u %s %x", offset_of(item->code->first),
			offset_of(item->code->last), item->code->insns, end_names[item->end],
			offset_of(item->to));
	else
		fprintf(file, "- %s %x", end_names[item->end], offset_of(item->to));
	if (item->kind == DECODE_BLOCK && item->from)
		fprintf(file, " from %x", offset_of(item->from));
	fprintf(file, " @%d", (int)item->time);
	if (item->cycles)
		fprintf(file, " %u cycles", item->cycles);
	if (item->kind == DECODE_BLOCK && item->untraced)
		fprintf(file, " %s", places[item->untraced]);
	if (item->tid >= 0)
		fprintf(file, " tid %d", item->tid);
	fprintf(file, "\n");
}

/* One segment, in reads of this many items. */
static void decode_one(FILE *file, size_t i, size_t room, bool *joined)
{
	struct decode_item items[256];
	struct blocks *blocks;
	bool first = true;

	segments[i].end = i + 1 < nr_segments ? segments[i + 1].begin : here();
	segments[i].limit = here();
	assert_return_code(blocks_new(&blocks, &env, NULL, &segments[i],
				      i + 1 < nr_segments ? &segments[i + 1] : NULL),
			   0);
	while (!blocks_done(blocks)) {
		size_t nr;

		assert_return_code(blocks_read(blocks, NULL, items, room, &nr), 0);
		for (size_t j = first && *joined && items[0].kind == DECODE_BEGIN; j < nr; j++)
			print(file, &items[j]);
		first = false;
	}
	*joined = blocks_counts(blocks)->joined;
	blocks_free(blocks);
}

/* All segments; frees nothing. */
static char *decode_all(size_t room)
{
	bool joined = false;

	blocks_env_init(&env, NULL, BASE + SWITCH_TO);
	return WRITTEN(file,
		       for (size_t i = 0; i < nr_segments; i++) decode_one(file, i, room, &joined));
}

static void check(const char *expected)
{
	_cleanup_free_ char *text = decode_all(256);
	_cleanup_free_ char *pieces = decode_all(BLOCKS_ROOM_MIN);

	assert_string_equal(text, expected);
	assert_string_equal(pieces, expected);
}

TEST_WITH(flow, set_up, tear_down)
{
	put_psb(MAIN, 1000);
	put_ip(ppt_tip, 0x007);
	put_tnt(1, 1);
	put_no_ip(ppt_tip_pgd);
	check("begin 0 @1000\n"
	      "0-2 3 call 100 @1000\n"
	      "100-101 2 return 7 @1000\n"
	      "7-7 1 jump 20 @1000\n"
	      "20-21 2 disabled fff @1000\n");
}

TEST_WITH(not_taken, set_up, tear_down)
{
	put_psb(0x007, 1000);
	put_tnt(1, 0);
	put_ip(ppt_tip, HANDLER);
	put_ip(ppt_tip, 0x023);
	put_ip(ppt_fup, SWITCH_TO);
	put_no_ip(ppt_tip_pgd);
	check("begin 7 @1000\n"
	      "7-7 1 on 9 @1000\n"
	      "9-9 1 jump 20 @1000\n"
	      "20-21 2 syscall 200 @1000\n"
	      "200-201 2 iret 23 @1000\n"
	      "23-23 1 call 300 @1000\n"
	      "- async fff from 300 @1000\n");
}

TEST_WITH(interrupts, set_up, tear_down)
{
	put_psb(MAIN, 1000);
	/* In the middle of straight code, and where a call went. */
	put_tsc(1100);
	put_ip(ppt_fup, 0x001);
	put_ip(ppt_tip, HANDLER);
	put_tsc(1200);
	put_ip(ppt_tip, 0x001);
	put_tsc(1300);
	put_ip(ppt_fup, CALLED);
	put_ip(ppt_tip, HANDLER);
	put_ip(ppt_fup, 0x201);
	put_no_ip(ppt_tip_pgd);
	check("begin 0 @1000\n"
	      "0-0 1 interrupt 200 from 1 @1100\n"
	      "200-201 2 iret 1 @1200\n"
	      "1-2 2 call 100 @1200\n"
	      "- interrupt 200 from 100 @1300\n"
	      "200-200 1 async fff from 201 @1300\n");
}

TEST_WITH(times, set_up, tear_down)
{
	put_psb(0x007, 1000);
	put_tsc(1100);
	put_tnt(1, 1);
	put_tsc(1200);
	put_ip(ppt_tip, CALLED);
	/* An earlier time is ignored. */
	put_tsc(1150);
	put_ip(ppt_tip, 0x101);
	put_tsc(1900);
	put_no_ip(ppt_tip_pgd);
	check("begin 7 @1000\n"
	      "7-7 1 jump 20 @1100\n"
	      "20-21 2 syscall 100 @1200\n"
	      "100-101 2 return 101 @1200\n"
	      "101-101 1 disabled fff @1900\n");
}

/* Code behind an early branch keeps that time, not the interrupt's. */
TEST_WITH(idle, set_up, tear_down)
{
	put_psb(0x007, 1000);
	put_tsc(1100);
	put_tnt(1, 0);
	put_tsc(90000);
	put((struct pt_packet){ .type = ppt_cbr, .payload.cbr.ratio = 10 });
	put_ip(ppt_fup, 0x021);
	put_ip(ppt_tip, HANDLER);
	put_no_ip(ppt_tip_pgd);
	check("begin 7 @1000\n"
	      "7-7 1 on 9 @1100\n"
	      "9-9 1 jump 20 @1100\n"
	      "20-20 1 interrupt 200 from 21 @90000\n"
	      "200-201 2 disabled fff @90000\n");
}

TEST_WITH(disabled, set_up, tear_down)
{
	put_psb(-1, 1000);
	put_tsc(1100);
	put_mode();
	put_ip(ppt_tip_pge, 0x020);
	put_no_ip(ppt_tip_pgd);
	put_tsc(1200);
	put_ip(ppt_tip_pge, 0x100);
	/* Leaves a traced range */
	put_ip(ppt_tip_pgd, 0x200);
	check("begin 20 @1100\n"
	      "20-21 2 disabled fff @1100\n"
	      "begin 100 @1200\n"
	      "100-101 2 disabled 200 @1200\n");
}

/* A PSB in untraced code, and an unchanged mode. */
TEST_WITH(no_mode, set_up, tear_down)
{
	put_psb(-1, 1000);
	put_tsc(1100);
	put_ip(ppt_tip_pge, 0x020);
	put_no_ip(ppt_tip_pgd);
	put_psb(-1, 2000);
	put_ip(ppt_tip_pge, 0x100);
	put_psb(0x101, 3000);
	put_no_ip(ppt_tip_pgd);
	check("begin 20 @1100\n"
	      "20-21 2 disabled fff @1100\n"
	      "begin 100 @2000\n"
	      "100-100 1 on 101 @2000\n"
	      "101-101 1 disabled fff @3000\n");
}

TEST_WITH(overflow, set_up, tear_down)
{
	put_psb(MAIN, 1000);
	put_tsc(1100);
	put((struct pt_packet){ .type = ppt_ovf });
	put_tsc(1150);
	put_ip(ppt_fup, 0x101);
	put_tsc(1200);
	put_ip(ppt_tip, 0x020);
	put_no_ip(ppt_tip_pgd);
	check("begin 0 @1000\n"
	      "- overflow fff @1100\n"
	      "begin 101 @1150\n"
	      "101-101 1 return 20 @1200\n"
	      "20-21 2 disabled fff @1200\n");
}

TEST_WITH(transaction, set_up, tear_down)
{
	put_psb(MAIN, 1000);
	put_tsx(true, false);
	put_ip(ppt_fup, 0x001);
	put_tsx(false, true);
	put_ip(ppt_fup, 0x101);
	put_ip(ppt_tip, 0x020);
	put_no_ip(ppt_tip_pgd);
	check("begin 0 @1000\n"
	      "0-0 1 on 1 @1000\n"
	      "1-2 2 call 100 @1000\n"
	      "100-100 1 abort 20 from 101 @1000\n"
	      "20-21 2 disabled fff @1000\n");
}

TEST_WITH(missing_code, set_up, tear_down)
{
	put_psb(0x020, 1000);
	put_ip(ppt_tip, 0x028);
	put_tnt(1, 0);
	check("begin 20 @1000\n"
	      "20-21 2 syscall 28 @1000\n"
	      "28-28 1 jump 1000 @1000\n"
	      "code of 0xffffffff81001000 is not in the capture @1000\n");
}

/* Decoding resumes where the trace has an address: at an interrupt's source and in a handler. The
 * return has no matching call. */
TEST_WITH(behind_missing_code, set_up, tear_down)
{
	put_psb(0x020, 1000);
	put_ip(ppt_tip, 0x1000);
	put_tnt(3, 5);
	put_tsc(2000);
	put_ip(ppt_fup, 0x1010);
	put_ip(ppt_tip, HANDLER);
	put_ip(ppt_tip, 0x1010);
	put_tsc(3000);
	put_ip(ppt_tip, 0x100);
	put_tnt(1, 1);
	put_tsc(4000);
	put_ip(ppt_tip, MAIN);
	put_tnt(1, 1);
	put_no_ip(ppt_tip_pgd);
	check("begin 20 @1000\n"
	      "20-21 2 syscall 1000 @1000\n"
	      "code of 0xffffffff81001000 is not in the capture @1000\n"
	      "begin 1010 @2000\n"
	      "- interrupt 200 from 1010 @2000\n"
	      "200-201 2 iret 1010 @2000\n"
	      "code of 0xffffffff81001010 is not in the capture @2000\n"
	      "begin 100 @3000\n"
	      "100-101 2 lost fff @3000\n"
	      "the trace does not fit the code at 0xffffffff81000101 (compressed return without "
	      "call) @3000\n"
	      "begin 0 @4000\n"
	      "0-2 3 call 100 @4000\n"
	      "100-101 2 return 7 @4000\n"
	      "7-7 1 disabled fff @4000\n");
}

/* A FUP packet of a transaction is no interrupt; one behind an overflow is where it ended.
 */
TEST_WITH(behind_missing_code_elsewhere, set_up, tear_down)
{
	put_psb(0x1000, 1000);
	put_tsx(true, false);
	put_ip(ppt_fup, 0x1010);
	put_ip(ppt_tip, 0x1020);
	put((struct pt_packet){ .type = ppt_ovf });
	put_ip(ppt_fup, 0x020);
	put_no_ip(ppt_tip_pgd);
	put_ip(ppt_tip_pge, 0x100);
	put_no_ip(ppt_tip_pgd);
	check("begin 1000 @1000\n"
	      "code of 0xffffffff81001000 is not in the capture @1000\n"
	      "begin 1020 @1000\n"
	      "- overflow fff @1000\n"
	      "begin 20 @1000\n"
	      "20-21 2 disabled fff @1000\n"
	      "begin 100 @1000\n"
	      "100-101 2 disabled fff @1000\n");
}

/* A TNT bit at a return or system call means a wrong path. */
TEST_WITH(wrong_trace, set_up, tear_down)
{
	put_psb(MAIN, 1000);
	put_tnt(2, 1);
	put_no_ip(ppt_tip_pgd);
	check("begin 0 @1000\n"
	      "0-2 3 call 100 @1000\n"
	      "100-101 2 lost fff @1000\n"
	      "the trace does not fit the code at 0xffffffff81000101 (bad compressed return) "
	      "@1000\n");
}

/* An interrupt at an unreachable address, and a trace that ends there. */
TEST_WITH(endless, set_up, tear_down)
{
	_cleanup_free_ char *text = NULL;

	put_psb(ENDLESS, 1000);
	put_ip(ppt_fup, MAIN);
	put_ip(ppt_tip, HANDLER);
	put_psb(ENDLESS, 2000);
	text = decode_all(256);
	assert_non_null(strstr(text, "the trace does not fit the code at 0xffffffff81000340"));
}

/* At the end of the trace nothing untraced is reported. */
TEST_WITH(cut_off, set_up, tear_down)
{
	put_psb(MAIN, 1000);
	put_ip(ppt_tip, 0x007);
	put_tnt(1, 0);
	check("begin 0 @1000\n"
	      "0-2 3 call 100 @1000\n"
	      "100-101 2 return 7 @1000\n"
	      "7-7 1 on 9 @1000\n"
	      "9-9 1 jump 20 @1000\n"
	      "20-21 2 lost fff @1000\n");
}

/* Each segment includes all code up to the next one's begin. */
TEST_WITH(joined, set_up, tear_down)
{
	put_psb(MAIN, 1000);
	put_psb(0x001, 2000); /* in straight code */
	put_psb(CALLED, 3000);
	put_psb(CALLED, 4000);
	put_tsc(4500);
	put_ip(ppt_tip, 0x007);
	put_psb(0x007, 5000); /* behind a packet */
	put_tnt(1, 0);
	put_psb(0x021, 6000); /* behind a jump and one more */
	put_no_ip(ppt_tip_pgd);
	put_psb(-1, 7000);
	put_psb(-1, 8000);
	put_mode();
	put_ip(ppt_tip_pge, 0x023);
	put_psb(SWITCH_TO, 9000);
	put_no_ip(ppt_tip_pgd);
	check("begin 0 @1000\n"
	      "0-0 1 on 1 @1000\n"
	      "1-2 2 call 100 @2000\n"
	      "100-101 2 return 7 @4500\n"
	      "7-7 1 on 9 @5000\n"
	      "9-9 1 jump 20 @5000\n"
	      "20-20 1 on 21 @5000\n"
	      "21-21 1 disabled fff @6000\n"
	      "begin 23 @8000\n"
	      "23-23 1 call 300 @8000\n"
	      "300-301 2 disabled fff @9000\n");
}

/* An overflow ends at a PSB. */
TEST_WITH(joined_overflow, set_up, tear_down)
{
	put_psb(MAIN, 1000);
	put((struct pt_packet){ .type = ppt_ovf });
	put_psb(CALLED, 2000);
	put_ip(ppt_tip, 0x020);
	put_no_ip(ppt_tip_pgd);
	check("begin 0 @1000\n"
	      "- overflow fff @1000\n"
	      "begin 100 @2000\n"
	      "100-101 2 return 20 @2000\n"
	      "20-21 2 disabled fff @2000\n");
}

TEST_WITH(not_joined, set_up, tear_down)
{
	put_psb(MAIN, 1000);
	put_psb(0x001, 2000);
	segments[1].joined = false;
	put_ip(ppt_tip, 0x007);
	put_no_ip(ppt_tip_pgd);
	check("begin 0 @1000\n"
	      "0-2 3 call 100 @1000\n"
	      "100-101 2 lost fff @1000\n"
	      "begin 1 @2000\n"
	      "1-2 2 call 100 @2000\n"
	      "100-101 2 return 7 @2000\n"
	      "7-7 1 disabled fff @2000\n");
}

/* The damage is in the next segment's PSB+. */
TEST_WITH(joined_by_damage, set_up, tear_down)
{
	put_psb(MAIN, 1000);
	put_psb(0x001, 2000);
	trace[segments[1].begin - trace + 16] = 0x05;
	put_ip(ppt_tip, 0x007);
	put_no_ip(ppt_tip_pgd);
	check("begin 0 @1000\n"
	      "0-2 3 call 100 @1000\n"
	      "100-101 2 lost fff @1000\n"
	      "the trace cannot be decoded (unknown opcode) @2000\n");
}

static void set_task(uint64_t time, uint64_t latest, int tid)
{
	tasks[nr_tasks++] = (struct sideband_task){
		.time = time,
		.latest = latest,
		.pid = tid & ~1,
		.tid = tid,
	};
}

/* At the branch to __switch_to, although its time comes late in the trace. */
TEST_WITH(switches, set_up, tear_down)
{
	set_task(500, 600, 11);
	set_task(1100, 1300, 21);
	set_task(5000, 5100, 31);
	put_psb(0x023, 1000);
	put_tsc(1200);
	put_ip(ppt_tip, 0x028);
	put_psb(0x023, 3000);
	put_ip(ppt_tip, 0x023);
	put_tsc(5200);
	put_ip(ppt_tip, 0x020);
	put_no_ip(ppt_tip_pgd);
	check("begin 23 @1000 tid 11\n"
	      "23-23 1 call 300 @1000 tid 11\n"
	      "300-301 2 return 28 @1200 tid 21\n"
	      "28-28 1 jump 1000 @1200 tid 21\n"
	      "code of 0xffffffff81001000 is not in the capture @1200 tid 21\n"
	      "begin 23 @3000 tid 21\n"
	      "23-23 1 call 300 @3000 tid 21\n"
	      "300-301 2 return 23 @3000 tid 31\n"
	      "23-23 1 call 300 @3000 tid 31\n"
	      "300-301 2 return 20 @5200 tid 31\n"
	      "20-21 2 disabled fff @5200 tid 31\n");
}

/* A task that may have been switched to runs by the return to user space: IRET or SYSRET. */
TEST_WITH(switches_before_user_space, set_up, tear_down)
{
	static const struct {
		uint16_t at;
		int tid;
		const char *text;
	} ways[] = { { HANDLER, 21, "200-201 2 iret" }, { CALLED, 11, "100-101 2 return" } };
	char expected[300];

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		tear_down(NULL);
		set_up(NULL);
		set_task(500, 600, 11);
		set_task(1100, 1300, 21);
		put_psb(ways[i].at, 1000);
		put_tsc(1200);
		put_ip(ppt_tip, 0x400000 - BASE);
		put_no_ip(ppt_tip_pgd);
		snprintf(expected, sizeof(expected),
			 "begin %x @1000 tid 11\n"
			 "%s 7f400000 @1200 tid 11\n"
			 "code of 0x400000 is not in the capture @1200 tid %d\n",
			 ways[i].at, ways[i].text, ways[i].tid);
		check(expected);
	}
}

/* The branch to __switch_to is in the previous segment. */
TEST_WITH(switch_before, set_up, tear_down)
{
	set_task(500, 600, 11);
	set_task(900, 1100, 21);
	put_psb(CALLED, 1000);
	put_ip(ppt_tip, CALLED);
	put_tsc(1200);
	put_ip(ppt_tip, 0x020);
	put_no_ip(ppt_tip_pgd);
	check("begin 100 @1000 tid 21\n"
	      "100-101 2 return 100 @1000 tid 21\n"
	      "100-101 2 return 20 @1200 tid 21\n"
	      "20-21 2 disabled fff @1200 tid 21\n");
}

TEST_WITH(cycles, set_up, tear_down)
{
	pt.fields[PERFDATA_PT_CYC_BIT] = pt.config = 2;
	put_psb(0x007, 1000);
	put_cyc(5);
	put_cyc(6);
	put_tnt(1, 1);
	put_cyc(7);
	put_ip(ppt_tip, 0x007);
	put_cyc(300);
	put_no_ip(ppt_tip_pgd);
	check("begin 7 @1000\n"
	      "7-7 1 jump 20 @1000 11 cycles\n"
	      "20-21 2 syscall 7 @1000 7 cycles\n"
	      "7-7 1 disabled fff @1000 300 cycles\n");
}

/* Cycles before traced code, and between two pieces of it, do not belong to it. */
TEST_WITH(cycles_of_others, set_up, tear_down)
{
	put_psb(-1, 1000);
	put_cyc(160);
	put_mode();
	put_ip(ppt_tip_pge, 0x020);
	put_cyc(5);
	put_no_ip(ppt_tip_pgd);
	put_cyc(4000);
	put_ip(ppt_tip_pge, 0x100);
	put_no_ip(ppt_tip_pgd);
	put_psb(-1, 2000);
	put_cyc(4000);
	put_mode();
	put_ip(ppt_tip_pge, 0x020);
	put_cyc(6);
	put_no_ip(ppt_tip_pgd);
	check("begin 20 @1000\n"
	      "20-21 2 disabled fff @1000 5 cycles\n"
	      "begin 100 @1000\n"
	      "100-101 2 disabled fff @1000\n"
	      "begin 20 @2000\n"
	      "20-21 2 disabled fff @2000 6 cycles\n");
}

/* The decoder reads ahead, beyond where tracing is enabled again. */
TEST_WITH(cycles_of_what_follows, set_up, tear_down)
{
	put_psb(-1, 1000);
	put_mode();
	put_ip(ppt_tip_pge, 0x020);
	put_cyc(5);
	put_no_ip(ppt_tip_pgd);
	put_ip(ppt_tip_pge, 0x100);
	put_cyc(7);
	put_ip(ppt_tip, 0x020);
	put_cyc(8);
	put_no_ip(ppt_tip_pgd);
	check("begin 20 @1000\n"
	      "20-21 2 disabled fff @1000 5 cycles\n"
	      "begin 100 @1000\n"
	      "100-101 2 return 20 @1000 7 cycles\n"
	      "20-21 2 disabled fff @1000 8 cycles\n");
}

/* Packets of Event Trace, which libipt knows from 2.1 on: EVD; CFE of a page fault, SMI, RSM,
 * IRET, VM exit, VM entry. */
TEST_WITH(event_trace, set_up, tear_down)
{
	put_psb(0x000, 1000);
	put_bytes("\x02\x53\x00\xaa\x0b\xf0\x00\x00\x00\x00\x00\x02\x13\x01\x0e", 15);
	put_ip(ppt_fup, 0x001);
	put_ip(ppt_tip, 0x200);
	put_bytes("\x02\x13\x03\x00", 4);
	put_ip(ppt_fup, 0x201);
	put_no_ip(ppt_tip_pgd);
	put_tsc(2000);
	put_bytes("\x02\x13\x04\x00", 4);
	put_ip(ppt_tip_pge, 0x201);
	put_bytes("\x02\x13\x02\x00", 4);
	put_ip(ppt_tip, 0x001);
	put_bytes("\x02\x13\x08\x00", 4);
	put_ip(ppt_fup, 0x002);
	put_no_ip(ppt_tip_pgd);
	put_ip(ppt_tip_pge, 0x360);
	put_bytes("\x02\x13\x07\x00", 4);
	put_no_ip(ppt_tip_pgd);
	put_ip(ppt_tip_pge, 0x100);
	put_no_ip(ppt_tip_pgd);
	check("begin 0 @1000\n"
	      "0-0 1 interrupt 200 from 1 @1000\n"
	      "200-200 1 async fff from 201 @1000 SMI\n"
	      "begin 201 @2000\n"
	      "201-201 1 iret 1 @2000\n"
	      "1-1 1 async fff from 2 @2000 hypervisor\n"
	      "begin 360 @2000\n"
	      "360-360 1 disabled fff @2000 guest\n"
	      "begin 100 @2000\n"
	      "100-101 2 disabled fff @2000\n");
}

/* The CPU has erratum SKL014. */
TEST_WITH(address_filter, set_up, tear_down)
{
	strcpy(pt.vendor, "GenuineIntel");
	pt.family = 6;
	pt.model = 0x5e;
	pt.ranges[0] = (struct sideband_range){ BASE, BASE + 0xff, false };
	pt.nr_ranges = 1;
	put_psb(0x000, 1000);
	put_no_ip(ppt_tip_pgd);
	put_ip(ppt_tip_pge, 0x007);
	put_tnt(1, 1);
	put_no_ip(ppt_tip_pgd);
	check("begin 0 @1000\n"
	      "0-2 3 disabled fff @1000\n"
	      "begin 7 @1000\n"
	      "7-7 1 jump 20 @1000\n"
	      "20-21 2 disabled fff @1000\n");
}
