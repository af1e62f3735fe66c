// SPDX-License-Identifier: GPL-2.0-only
#include "ends.h"

#include <intel-pt.h>

#include "code.h"

static enum decode_end end_of_cond(const struct code_block *code, uint64_t to)
{
	uint64_t most = code->length ? code->length : pt_max_insn_size;

	return to > code->last && to - code->last <= most ? DECODE_ON : DECODE_JUMP;
}

enum decode_end block_end(const struct code_block *code, uint64_t to)
{
	static const uint8_t ends[] = {
		[CODE_NO_BRANCH] = DECODE_ON,	 [CODE_JUMP] = DECODE_JUMP,
		[CODE_CALL] = DECODE_CALL,	 [CODE_RETURN] = DECODE_RETURN,
		[CODE_SYSCALL] = DECODE_SYSCALL, [CODE_SYSRET] = DECODE_SYSRET,
		[CODE_IRET] = DECODE_IRET,	 [CODE_INT] = DECODE_INTERRUPT,
		[CODE_OTHER] = DECODE_JUMP,
	};

	return code->branch == CODE_COND ? end_of_cond(code, to) : ends[code->branch];
}
