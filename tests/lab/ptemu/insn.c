// SPDX-License-Identifier: GPL-2.0-only
#include "insn.h"

#include "ptemu.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS (1 << 18)

static struct insn *buckets[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_prefix(u8 byte)
{
	switch (byte) {
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64 ... 0x67:
	case 0xf0:
	case 0xf2:
	case 0xf3:
		return true;
	default:
		return false;
	}
}

static s64 displacement(const struct insn *insn, size_t bytes)
{
	const u8 *end = insn->bytes + insn->size;
	int32_t value;

	if (bytes == 1)
		return (int8_t)end[-1];
	memcpy(&value, end - 4, 4);
	return value;
}

static void direct(struct insn *insn, enum insn_kind kind, size_t bytes)
{
	insn->kind = kind;
	insn->target = insn_end(insn) + displacement(insn, bytes);
}

/* Group 5: the opcode 0xff */
static enum insn_kind group5(u8 modrm)
{
	switch (modrm >> 3 & 7) {
	case 2:
		return INSN_INDIRECT_CALL;
	case 4:
		return INSN_INDIRECT_JUMP;
	case 3:
	case 5:
		return INSN_FAR;
	default:
		return INSN_OTHER;
	}
}

/* Opcodes of two bytes, the first 0x0f */
static void classify_0f(struct insn *insn, const u8 *opcode, u8 rex)
{
	switch (opcode[1]) {
	case 0x05: /* syscall */
	case 0x07: /* sysret */
	case 0x34:
	case 0x35:
		insn->kind = INSN_FAR;
		break;
	case 0x22:
		if ((opcode[2] >> 3 & 7) == 3 && !(rex & 4)) {
			insn->kind = INSN_CR3;
			insn->reg = (opcode[2] & 7) | (rex & 1) << 3;
		}
		break;
	case 0x80 ... 0x8f:
		direct(insn, INSN_CONDITIONAL, 4);
		break;
	}
}

static void classify(struct insn *insn)
{
	const u8 *opcode = insn->bytes;
	u8 rex = 0;

	while (is_prefix(*opcode))
		opcode++;
	if ((*opcode & 0xf0) == 0x40)
		rex = *opcode++;
	switch (*opcode) {
	case 0x0f:
		classify_0f(insn, opcode, rex);
		break;
	case 0x70 ... 0x7f:
	case 0xe0 ... 0xe3: /* loop, jrcxz */
		direct(insn, INSN_CONDITIONAL, 1);
		break;
	case 0xe8:
		direct(insn, INSN_CALL, 4);
		break;
	case 0xe9:
		direct(insn, INSN_JUMP, 4);
		break;
	case 0xeb:
		direct(insn, INSN_JUMP, 1);
		break;
	case 0xc2:
	case 0xc3:
		insn->kind = INSN_RETURN;
		break;
	case 0xca:
	case 0xcb:
	case 0xcf: /* iret */
		insn->kind = INSN_FAR;
		break;
	case 0xf4:
		insn->kind = INSN_HALT;
		break;
	case 0xff:
		insn->kind = group5(opcode[1]);
		break;
	}
}

static struct insn *make(u64 ip, const u8 *bytes, size_t size)
{
	static const u8 magic[PTEMU_INSN_SIZE] = {
		0x0f,
		0x1f,
		0x80,
		PTEMU_MAGIC & 0xff,
		PTEMU_MAGIC >> 8 & 0xff,
		PTEMU_MAGIC >> 16 & 0xff,
		PTEMU_MAGIC >> 24,
	};
	/* Bytes behind its own are 0. */
	struct insn *insn = calloc(1, sizeof(*insn));

	if (!insn)
		abort();
	insn->ip = ip;
	insn->size = size;
	memcpy(insn->bytes, bytes, size);
	classify(insn);
	if (size == sizeof(magic) && !memcmp(bytes, magic, size))
		insn->kind = INSN_MAGIC;
	return insn;
}

struct insn *insn_get(u64 ip, const u8 *bytes, size_t size)
{
	struct insn **bucket = &buckets[(ip ^ ip >> 18) % BUCKETS];
	struct insn *insn;

	pthread_mutex_lock(&lock);
	for (insn = *bucket; insn; insn = insn->next_of_bucket) {
		if (insn->ip == ip && insn->size == size && !memcmp(insn->bytes, bytes, size))
			break;
	}
	if (!insn) {
		insn = make(ip, bytes, size);
		insn->next_of_bucket = *bucket;
		*bucket = insn;
	}
	pthread_mutex_unlock(&lock);
	return insn;
}
