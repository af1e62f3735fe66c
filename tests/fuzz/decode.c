// SPDX-License-Identifier: GPL-2.0-only
/* The decoder on a perf.data, where all code is a few instructions again and again. */
#include "pt/decode.h"

#include <search.h>

#include <intel-pt.h>

#include "array.h"
#include "code/code.h"
#include "fuzz.h"

static const uint8_t pattern[32] = {
	0x90, 0x74, 0x05, 0xe8, 0x18, 0x00, 0x00, 0x00, /* nop, je 8, call of the next pattern */
	0x90, 0xc3, 0xeb, 0x04, 0x0f, 0x05, 0x48, 0xcf, /* nop, ret, jmp 16, syscall, iretq */
	0xff, 0xd0, 0xff, 0xe0, 0xcc, 0x75, 0xe9, 0xe9, /* call *%rax, jmp *%rax, int3, jne 0, */
	0x04, 0x00, 0x00, 0x00, 0xeb, 0xfe, 0xf4, 0xf4, /* jmp of the next pattern, jmp here, hlt */
};

/* Code is everywhere but in every eighth of these. */
#define HOLE 0x1000

struct code {
	char unused;
};

struct code_view {
	struct pt_image *image;
	void *blocks; /* a tree */
};

static const struct symbol symbol;

static int read_code(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip,
		     void *context)
{
	size_t i = 0;

	for (; i < size && (ip + i) / HOLE % 8; i++)
		buffer[i] = pattern[(ip + i) % sizeof(pattern)];
	return i ? (int)i : -pte_nomap;
}

int code_new(struct code **ret, const struct code_opts *opts, char **why)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void code_free(struct code *code)
{
	free(code);
}

int code_view_new(struct code_view **ret, struct code *code)
{
	struct code_view *view = calloc(1, sizeof(*view));

	view->image = pt_image_alloc(NULL);
	pt_image_set_callback(view->image, read_code, NULL);
	*ret = view;
	return 0;
}

void code_view_free(struct code_view *view)
{
	if (!view)
		return;
	tdestroy(view->blocks, free);
	pt_image_free(view->image);
	free(view);
}

struct pt_image *code_view_image(struct code_view *view, int pid, uint64_t time, uint64_t *until)
{
	*until = time < UINT64_MAX - 100 ? time + 100 : UINT64_MAX;
	return view->image;
}

static int compare_blocks(const void *a, const void *b)
{
	const struct code_block *one = a, *other = b;

	return array_compare(one->first, other->first)
		       ?: array_compare(one->last, other->last)
		       ?: array_compare(one->insns, other->insns);
}

const struct code_block *code_view_block(struct code_view *view, const struct pt_block *block)
{
	static const uint8_t branches[sizeof(pattern)] = {
		[1] = CODE_COND,     [3] = CODE_CALL,  [9] = CODE_RETURN, [10] = CODE_JUMP,
		[12] = CODE_SYSCALL, [14] = CODE_IRET, [16] = CODE_CALL,  [18] = CODE_JUMP,
		[20] = CODE_INT,     [21] = CODE_COND, [23] = CODE_JUMP,  [28] = CODE_JUMP,
	};
	const struct code_block wanted = {
		.first = block->ip,
		.last = block->end_ip,
		.insns = block->ninsn,
		.branch = branches[block->end_ip % sizeof(pattern)],
	};
	struct code_block *const *found = tfind(&wanted, &view->blocks, compare_blocks);
	struct code_block *code;

	if (found)
		return *found;
	code = malloc(sizeof(*code));
	*code = wanted;
	tsearch(code, &view->blocks, compare_blocks);
	return code;
}

const struct symbol *code_view_symbol(struct code_view *view, int pid, uint64_t time, uint64_t ip)
{
	return &symbol;
}

int code_files(struct code *code, struct code_file **files, size_t *nr)
{
	*nr = 0;
	return -ENOMEM;
}

int code_kernel_symbol(const struct code *code, const char *name, uint64_t *start, uint64_t *end)
{
	*start = 0xffffffff81002000;
	*end = *start + 1;
	return 0;
}

static void require(bool condition)
{
	if (!condition)
		abort();
}

static uint64_t mix(uint64_t sum, uint64_t value)
{
	return (sum ^ value) * 0x100000001b3;
}

static uint64_t add(uint64_t sum, const struct decode_item *item)
{
	require(item->kind <= DECODE_ERROR && item->end <= DECODE_NO_CODE);
	require(item->kind != DECODE_ERROR || item->error < 0);
	sum = mix(mix(mix(sum, item->time), item->to), item->from);
	sum = mix(mix(mix(sum, (uint64_t)item->cpu), (uint64_t)item->tid), item->cycles);
	if (item->kind == DECODE_BLOCK && item->code)
		sum = mix(mix(mix(sum, item->code->first), item->code->last), item->code->insns);
	return mix(sum, (uint64_t)item->kind << 8 | item->end);
}

static int decode(const char *path, unsigned int threads, uint64_t *sum)
{
	const struct decode_opts opts = { .data = path, .cpu = -1, .threads = threads };
	_cleanup_free_ char *why = NULL;
	const struct decode_item *items;
	struct decode *decode;
	uint64_t last = 0;
	size_t nr;
	int r = decode_new(&decode, &opts, &why);

	require(!r || why || r == -ENOMEM);
	if (r)
		return r;
	while (!(r = decode_next(decode, &items, &nr)) && nr) {
		require(items[0].time >= last);
		for (size_t i = 0; i < nr; i++)
			*sum = add(*sum, &items[i]);
		last = items[nr - 1].time;
	}
	decode_free(decode);
	return r;
}

int fuzz_one(const uint8_t *data, size_t size)
{
	_cleanup_close_ int fd = fuzz_file(data, size);
	uint64_t one = 0, several = 0;
	char path[64];
	int r;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = decode(path, 1, &one);
	require(r == decode(path, 3, &several));
	require(one == several);
	return r;
}
