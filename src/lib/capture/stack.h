/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A stack of the trigger's, with names. */
#ifndef LIB_CAPTURE_STACK_H
#define LIB_CAPTURE_STACK_H

#include "bpf/trigger.h"
#include "capture/symbols.h"
#include "perf_poke.h"

/* Returns the frames, whose number is *nr, for stack_free(); NULL: there are none. What interrupted
 * the innermost, or switched from it, is left out. */
struct perf_poke_frame *stack_name(const struct trigger_stack *stack,
				   struct capture_symbols *symbols, size_t *nr);
/* Whether an interrupt that came behind this code had been held off until then: 1, 0, or -1: not
 * known. */
int stack_held_off(const uint8_t code[TRIGGER_CODE_SIZE]);
void stack_free(struct perf_poke_frame *frames, size_t nr);

#endif
