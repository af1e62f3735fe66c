/* SPDX-License-Identifier: GPL-2.0-only */
/* How the tests print the end of a block. */
#ifndef TEST_END_NAMES_H
#define TEST_END_NAMES_H

#include "pt/item.h"

static const char *const end_names[] = {
	[DECODE_ON] = "on",
	[DECODE_JUMP] = "jump",
	[DECODE_CALL] = "call",
	[DECODE_RETURN] = "return",
	[DECODE_SYSCALL] = "syscall",
	[DECODE_SYSRET] = "sysret",
	[DECODE_INTERRUPT] = "interrupt",
	[DECODE_IRET] = "iret",
	[DECODE_TX_ABORT] = "abort",
	[DECODE_DISABLED] = "disabled",
	[DECODE_ASYNC_DISABLED] = "async",
	[DECODE_OVERFLOW] = "overflow",
	[DECODE_LOST] = "lost",
};

#endif
