/* SPDX-License-Identifier: GPL-2.0-only */
/* Instructions, as far as a trace is concerned with them */
#ifndef PTEMU_INSN_H
#define PTEMU_INSN_H

#include <linux/types.h>

enum insn_kind {
	INSN_OTHER,
	INSN_JUMP,
	INSN_CALL,
	INSN_CONDITIONAL,
	INSN_INDIRECT_JUMP,
	INSN_INDIRECT_CALL,
	INSN_RETURN,
	INSN_FAR, /* iret, syscall, sysret and the like */
	INSN_CR3, /* mov to it */
	INSN_HALT,
	INSN_MAGIC, /* PTEMU_INSN */
};

#define INSN_BYTES_MAX 15

struct insn {
	u64 ip, target; /* target: of direct branches */
	struct insn *next_of_bucket;
	u8 size, kind;
	u8 reg;			      /* INSN_CR3: which is moved to it */
	u8 bytes[INSN_BYTES_MAX + 3]; /* a search for the opcode ends in them */
};

static inline bool insn_is_user(u64 ip)
{
	return !(ip >> 63);
}

static inline u64 insn_end(const struct insn *insn)
{
	return insn->ip + insn->size;
}

/* The same for the same bytes at the same place; lives for ever. Any thread may call it. */
struct insn *insn_get(u64 ip, const u8 *bytes, size_t size);

#endif
