// SPDX-License-Identifier: GPL-2.0-only
#include "made_blocks.h"

#include <stdio.h>
#include <string.h>

#include "code/code.h"
#include "end_names.h"

#define SIZE 0x400

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
	{ 0x360, 3, CODE_VM_ENTRY, { 0x0f, 0x01, 0xc2 } }, /* vmlaunch */
};

static uint8_t memory[SIZE];
static struct pt_image *image;
static struct code_block blocks_seen[20000];
static size_t nr_seen;
struct sideband_pt made_pt;
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
	return &made_pt;
}

const struct sideband_task *sideband_tasks(const struct sideband *sb, int cpu, size_t *nr)
{
	assert_int_equal(cpu, 3);
	*nr = nr_tasks;
	return tasks;
}

int trace_queue_cpu(const struct trace_queue *queue)
{
	return 3;
}

uint8_t trace[TRACE_SIZE];
static struct pt_encoder *encoder;
struct trace_segment segments[16];
static size_t nr_segments;
static struct blocks_env env;

int set_up(void **state)
{
	struct pt_config config;

	memset(memory, 0xf4, sizeof(memory));
	for (size_t i = 0; i < ARRAY_SIZE(insns); i++)
		memcpy(memory + insns[i].at, insns[i].bytes, insns[i].length);
	made_pt = (struct sideband_pt){ .found = true, .kernel = true, .clock = { .mult = 1 } };
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

int tear_down(void **state)
{
	pt_free_encoder(encoder);
	pt_image_free(image);
	return 0;
}

static const uint8_t *here(void)
{
	uint64_t offset = 0;

	assert_return_code(pt_enc_get_offset(encoder, &offset), 0);
	return trace + offset;
}

static void put_packet(struct pt_packet packet)
{
	assert_true(pt_enc_next(encoder, &packet) > 0);
}

static void put_bytes(const char *bytes, size_t size)
{
	size_t offset = (size_t)(here() - trace);

	memcpy(trace + offset, bytes, size);
	assert_return_code(pt_enc_sync_set(encoder, offset + size), 0);
}

static void put_psb(int at, uint64_t tsc, bool guest)
{
	struct trace_segment *segment = &segments[nr_segments++];

	*segment = (struct trace_segment){
		.begin = here(),
		.tsc = tsc,
		.time = tsc,
		.joined = nr_segments > 1,
		.offset = (uint64_t)(here() - trace),
	};
	put_packet((struct pt_packet){ .type = ppt_psb });
	/* In the order of current CPUs. */
	if (at >= 0)
		PUT(MODE, FUP((uint64_t)at));
	if (guest)
		PUT(PIP(1));
	PUT(TSC(tsc), CBR(20), PACKET(ppt_psbend));
}

void put_steps(const struct made_step *steps, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (steps[i].bytes)
			put_bytes(steps[i].bytes, steps[i].nr_bytes);
		else if (steps[i].packet.type == ppt_psb)
			put_psb(steps[i].at, steps[i].tsc, steps[i].guest);
		else
			put_packet(steps[i].packet);
	}
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
char *decode_all(size_t room)
{
	bool joined = false;

	blocks_env_init(&env, NULL, BASE + SWITCH_TO);
	return WRITTEN(file,
		       for (size_t i = 0; i < nr_segments; i++) decode_one(file, i, room, &joined));
}

void check(const char *expected)
{
	_cleanup_free_ char *text = decode_all(256);
	_cleanup_free_ char *pieces = decode_all(BLOCKS_ROOM_MIN);

	assert_string_equal(text, expected);
	assert_string_equal(pieces, expected);
}

void set_task(uint64_t time, uint64_t latest, int tid)
{
	tasks[nr_tasks++] = (struct sideband_task){
		.time = time,
		.latest = latest,
		.pid = tid & ~1,
		.tid = tid,
	};
}
