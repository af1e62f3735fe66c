/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Symbolizes a stack that the trigger took. */
#ifndef LIB_CAPTURE_STACK_H
#define LIB_CAPTURE_STACK_H

#include "bpf/trigger.h"
#include "capture/symbols.h"
#include "perf_poke.h"

/* Returns *nr frames for stack_free(), or NULL. Omits the frames of the interrupt or of the
 * switch. */
struct perf_poke_frame *stack_name(const struct trigger_stack *stack,
				   struct capture_symbols *symbols, size_t *nr);
/* One frame of user space, for stack_free(). NULL: the process has ended. */
struct perf_poke_frame *stack_name_user(uint64_t address, uint32_t pid);
/* Whether this code, before the frame that an interrupt hit, had just enabled interrupts: 1 or 0 if
 * that is certain, else -1. */
int stack_held_off(const uint8_t code[TRIGGER_CODE_SIZE], const struct perf_poke_frame *hit);
void stack_free(struct perf_poke_frame *frames, size_t nr);

#endif
