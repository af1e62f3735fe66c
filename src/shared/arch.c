// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "arch.h"

#include <string.h>
#include <sys/utsname.h>

#include "kernel_function.h"
#include "util.h"

#define STI 0xfb
#define POPF 0x9d
#define HLT 0xf4
#define CALL 0xe8
#define CALL_BY 0xff
/* An instruction has at most three parts of four bytes: opcode, displacement and operand. */
#define SHADOW_MAX 11

static bool code_ends_with(const struct arch_hit *hit, const void *bytes, size_t nr)
{
	return !memcmp(hit->code + ARCH_CODE_SIZE - nr, bytes, nr);
}

/* Whether the byte 0xfb at `sti` is not the last one of `mov %rdi,%rbx` and the like. */
static bool is_whole_sti(const uint8_t *sti)
{
	bool has_rex = (sti[-2] & 0xf0) == 0x40;
	/* All with two operands, of which the second byte names registers. */
	bool is_move = sti[-1] == 0x89 || sti[-1] == 0x8b;
	bool computes = (sti[-1] & 0xc4) == 0 || sti[-1] == 0x85;

	return !is_move && !(has_rex && computes);
}

/* sti takes effect after the next instruction. In a kernel with CONFIG_PARAVIRT, that one is a
 * no-op of five bytes that fills the place of a call. Any other instruction may hide what is part
 * of an operand: 99 % of all bytes 0xfb are. */
static int x86_held_interrupts_off(const struct arch_hit *hit)
{
	static const uint8_t sti[] = { STI, 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	static const uint8_t mwait[] = { 0x0f, 0x01, 0xc9 }, call_pointer[] = { CALL_BY, 0x15 };
	const uint8_t *end = hit->code + ARCH_CODE_SIZE;

	/* Idle: it waited for the interrupt. */
	if (end[-1] == HLT || code_ends_with(hit, mwait, sizeof(mwait)))
		return -1;
	if (code_ends_with(hit, sti, sizeof(sti)) && is_whole_sti(end - sizeof(sti)))
		return 1;
	if (hit->symbol && kernel_function_find(hit->symbol, KERNEL_ENABLES_LAST))
		return 1;
	if (memchr(end - 1 - SHADOW_MAX, STI, 1 + SHADOW_MAX) || end[-1] == POPF)
		return -1;
	/* The end of a function that was called, or the begin of one, may follow sti too. */
	if (end[-5] == CALL || !memcmp(end - 6, call_pointer, sizeof(call_pointer)) ||
	    (end[-2] == CALL_BY && (end[-1] & 0xf8) == 0xd0))
		return -1;
	return hit->symbol && hit->offset >= ARCH_CODE_SIZE ? 0 : -1;
}

#define MSR_DAIFCLR 0xd50340ffU
#define MSR_DAIFCLR_MASK 0xfffff0ffU
#define DAIFCLR_IRQ (2U << 8)
/* From a register */
#define MSR_DAIF 0xd51b4220U
#define MSR_ICC_PMR 0xd5184600U
#define MSR_MASK 0xffffffe0U

/* PSTATE.DAIF, or with pseudo-NMIs the priority mask of the interrupt controller, changes with one
 * instruction, and a pending interrupt comes right after it. With pseudo-NMIs a barrier may follow
 * it. */
static int arm64_held_interrupts_off(const struct arch_hit *hit)
{
	uint32_t last[2];

	memcpy(last, hit->code + ARCH_CODE_SIZE - sizeof(last), sizeof(last));
	/* Idle: it waited for the interrupt. */
	if (hit->symbol && kernel_function_find(hit->symbol, KERNEL_IDLE | KERNEL_HALTS))
		return -1;
	/* The end of a function that was called, or the begin of one, may follow the instruction.
	 */
	if (!hit->symbol || hit->offset < sizeof(last[1]))
		return -1;
	if ((last[1] & MSR_DAIFCLR_MASK) == MSR_DAIFCLR)
		return last[1] & DAIFCLR_IRQ ? 1 : -1;
	/* What is written may turn them off as well, but not so that an interrupt comes. */
	if ((last[1] & MSR_MASK) == MSR_DAIF || (last[1] & MSR_MASK) == MSR_ICC_PMR)
		return 1;
	return -1;
}

static int unknown_held_interrupts_off(const struct arch_hit *hit)
{
	return -1;
}

/* The user's code segment of 64 bits: __USER_CS in Linux's arch/x86/include/asm/segment.h */
#define X86_CS_64 0x33
/* PSTATE.nRW */
#define ARM64_PSTATE_32 (1U << 4)
/* With virtual addresses of 48 bits; programs get larger ones only if they ask for them. */
#define ARM64_USER_ADDRESS ((1ULL << 48) - 1)

static const struct arch arches[] = {
	{ .name = "x86_64",
	  .local_irqs_first = true,
	  .has_tsc = true,
	  .syscall_prefix = "__x64_sys_",
	  .call_interrupt = "call_function_single",
	  .call_in_perf = "call_function_single",
	  .held_interrupts_off = x86_held_interrupts_off,
	  .unwind = { .pc = 16,
		      .sp = 19,
		      /* RBX, RBP, R12 to R15; System V ABI, AMD64 supplement, figure 3.36 */
		      .kept = { { 5, 3 }, { 4, 6 }, { 3, 12 }, { 2, 13 }, { 1, 14 }, { 0, 15 } },
		      .nr_kept = 6,
		      .sp_dwarf = 7,
		      .nr_dwarf = 17,
		      .address_mask = UINT64_MAX,
		      .wide = { 17, UINT64_MAX, X86_CS_64 } } },
	{ .name = "aarch64",
	  .has_ipi_events = true,
	  .has_coresight = true,
	  .syscall_prefix = "__arm64_sys_",
	  .call_interrupt = "call_function",
	  .call_in_perf = "Function call interrupts",
	  .held_interrupts_off = arm64_held_interrupts_off,
	  .unwind = { .pc = 32,
		      .sp = 31,
		      /* X19 to X30; DWARF for the Arm 64-bit Architecture, 4.1 */
		      .kept = { { 19, 19 },
				{ 20, 20 },
				{ 21, 21 },
				{ 22, 22 },
				{ 23, 23 },
				{ 24, 24 },
				{ 25, 25 },
				{ 26, 26 },
				{ 27, 27 },
				{ 28, 28 },
				{ 29, 29 },
				{ 30, 30 } },
		      .nr_kept = 12,
		      .sp_dwarf = 31,
		      .nr_dwarf = 32,
		      .address_mask = ARM64_USER_ADDRESS,
		      .wide = { 33, ARM64_PSTATE_32, 0 } } },
};

static const struct arch unknown_arch = { .name = "",
					  .syscall_prefix = "__se_sys_",
					  .call_interrupt = "call_function",
					  .call_in_perf = "call_function",
					  .held_interrupts_off = unknown_held_interrupts_off,
					  .unwind = { .wide = { .value = 1 } } };

const struct arch *arch_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(arches); i++) {
		if (!strcmp(arches[i].name, name))
			return &arches[i];
	}
	return &unknown_arch;
}

const struct arch *arch_here(void)
{
	struct utsname names;

	return uname(&names) ? &unknown_arch : arch_find(names.machine);
}
