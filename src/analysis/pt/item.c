// SPDX-License-Identifier: GPL-2.0-only
#include "pt/item.h"

#include <inttypes.h>
#include <stdio.h>

#include <intel-pt.h>

#include "code/code.h"

static enum decode_end end_of_cond(const struct code_block *code, uint64_t to)
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

	return code->branch == CODE_COND ? end_of_cond(code, to) : ends[code->branch];
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

static bool is_next(const struct decode_item *run, const struct decode_item *item)
{
	return run->kind == DECODE_BLOCK && run->end <= DECODE_JUMP && run->code &&
	       run->code->symbol && run->code->symbol == item->code->symbol &&
	       run->to == item->first && run->pid == item->pid && run->tid == item->tid &&
	       (run->insns | run->cycles | item->cycles) < COUNT_MAX;
}

bool item_join_run(struct decode_item *run, const struct decode_item *item)
{
	if (!is_next(run, item))
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
