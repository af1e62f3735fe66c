// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "arch.h"

#include "test.h"
#include "util.h"

#define NO_OP 0x0f, 0x1f, 0x44, 0x00, 0x00
/* As the kernel 7.3 of Debian has them before and after the address. */
TEST(knows_x86_code_that_turns_interrupts_on)
{
	static const struct {
		uint8_t code[ARCH_CODE_SIZE];
		const char *function;
		uint64_t offset;
		int held_off;
	} rows[] = {
		/* sti in place of a call */
		{ { [9] = 0x06, 0xfb, NO_OP }, "acme_flush", 100, 1 },
		{ { [8] = 0x0f, 0x0b, 0xfb, NO_OP }, "acme_flush", 100, 1 },
		/* mov %rdi,%rbx; mov %edi,%ebx; and %r15d,%ebx: before the jump of a static key */
		{ { [8] = 0x48, 0x89, 0xfb, NO_OP }, "acme_flush", 100, -1 },
		{ { [9] = 0x89, 0xfb, NO_OP }, "acme_flush", 100, -1 },
		{ { [8] = 0x44, 0x21, 0xfb, NO_OP }, "acme_flush", 100, -1 },
		/* sti; decl %gs:0x12345678(%rip): may be part of an operand as well */
		{ { [8] = 0xfb, 0x65, 0xff, 0x0d, 0x78, 0x56, 0x34, 0x12 }, "acme_flush", 100, -1 },
		{ { [8] = 0xfb, 0x65, 0xff, 0x0d, 0x78, 0x56, 0x34, 0x12 },
		  "_raw_spin_unlock_irqrestore",
		  20,
		  1 },
		{ { 0 }, "_raw_spin_unlock", 20, 0 },
		{ { [15] = 0xfb }, "acme_flush", 100, -1 },
		/* popf, or the end of a short jump */
		{ { [15] = 0x9d }, "acme_flush", 100, -1 },
		/* What hlt and mwait wait for */
		{ { [14] = 0xfb, 0xf4 }, "pv_native_safe_halt", 100, -1 },
		{ { [12] = 0xfb, 0x0f, 0x01, 0xc9 }, "mwait_idle", 100, -1 },
		/* Behind a call, three kinds, and at the begin of a function */
		{ { [11] = 0xe8, 0x01, 0x02, 0x03, 0x04 }, "acme_flush", 100, -1 },
		{ { [10] = 0xff, 0x15, 0x01, 0x02, 0x03, 0x04 }, "acme_flush", 100, -1 },
		{ { [14] = 0xff, 0xd0 }, "acme_flush", 100, -1 },
		{ { 0 }, "acme_flush", 15, -1 },
		{ { 0 }, NULL, 100, -1 },
		{ { [14] = 0x9d, 0x90 }, "acme_flush", 100, 0 },
		{ { 0xfb, 0xfb, 0xfb, 0xfb }, "acme_flush", 100, 0 },
		{ { 0 }, "acme_flush", 100, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct arch_hit hit = { rows[i].code, rows[i].function, rows[i].offset };

		if (arch_find("x86_64")->held_interrupts_off(&hit) != rows[i].held_off)
			fail_msg("row %zu", i);
	}
}

/* As the kernel 6.12 of Debian has them */
TEST(knows_arm64_code_that_turns_interrupts_on)
{
	static const struct {
		uint32_t before, last;
		const char *function;
		uint64_t offset;
		int held_off;
	} rows[] = {
		/* msr daifclr, #2 and #3; #1 is FIQs alone */
		{ 0xd503201f, 0xd50342ff, "acme_flush", 100, 1 },
		{ 0xd503201f, 0xd50343ff, "acme_flush", 100, 1 },
		{ 0xd503201f, 0xd50341ff, "acme_flush", 100, -1 },
		/* msr daif, x0 and x21 */
		{ 0xd503201f, 0xd51b4220, "acme_flush", 100, 1 },
		{ 0xd503201f, 0xd51b4235, "_raw_spin_unlock_irqrestore", 20, 1 },
		/* msr icc_pmr_el1, x0 */
		{ 0xd503201f, 0xd5184600, "acme_flush", 100, 1 },
		/* msr daifset, #2; mrs x0, daif */
		{ 0xd503201f, 0xd50342df, "acme_flush", 100, -1 },
		{ 0xd503201f, 0xd53b4220, "acme_flush", 100, -1 },
		/* nop; the instruction is of what stands before the function */
		{ 0xd50342ff, 0xd503201f, "acme_flush", 100, -1 },
		{ 0xd503201f, 0xd50342ff, "acme_flush", 0, -1 },
		{ 0xd503201f, 0xd50342ff, NULL, 100, -1 },
		/* It waited for the interrupt. */
		{ 0xd503207f, 0xd50342ff, "default_idle_call", 100, -1 },
		{ 0xd503207f, 0xd50342ff, "cpuidle_enter_state", 100, -1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint32_t code[] = { 0, 0, rows[i].before, rows[i].last };
		const struct arch_hit hit = { (void *)code, rows[i].function, rows[i].offset };

		if (arch_find("aarch64")->held_interrupts_off(&hit) != rows[i].held_off)
			fail_msg("row %zu", i);
	}
}

TEST(claims_nothing_of_others)
{
	static const uint8_t code[ARCH_CODE_SIZE];
	const struct arch *other = arch_find("riscv64");

	assert_false(other->local_irqs_first);
	assert_false(arch_find("aarch64")->local_irqs_first);
	assert_true(arch_find("x86_64")->local_irqs_first);
	assert_int_equal(other->held_interrupts_off(&(struct arch_hit){ code, "acme_flush", 100 }),
			 -1);
	assert_non_null(arch_here());
}
