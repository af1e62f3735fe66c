/* SPDX-License-Identifier: GPL-2.0-only */
/* Iterates over the instructions of straight code, with libipt. */
#ifndef DECODE_INSNS_H
#define DECODE_INSNS_H

#include <string.h>

#include <intel-pt.h>

#include "code/code.h"
#include "util.h"

struct insns;

#define PSB_STATE_SIZE 29
#define PSB_64_BITS 0x01 /* CS.L */
#define PSB_32_BITS 0x02 /* CS.D */

/* Writes a PSB+ with an address, where a decoder of libipt can begin: PSB, MODE.Exec, FUP with a
 * full address, PSBEND. mode: bits of MODE.Exec. */
static inline void psb_write(uint8_t at[PSB_STATE_SIZE], uint64_t ip, uint8_t mode)
{
	static const char psb[] =
		"\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82";
	const uint8_t state[] = { 0x99, mode, 0xdd };

	memcpy(at, psb, 16);
	memcpy(at + 16, state, sizeof(state));
	memcpy(at + 19, &ip, sizeof(ip));
	memcpy(at + 27, "\x02\x23", 2);
}

int insns_new(struct insns **ret) _must_check_;
void insns_free(struct insns *insns);

/* Starts at an address of the image. Returns 0 or libipt's error. */
int insns_begin(struct insns *insns, struct pt_image *image, uint64_t ip,
		enum pt_exec_mode mode) _must_check_;

/* Gets the next instruction; a branch is the last. False: end. */
bool insns_next(struct insns *insns, struct pt_insn *insn);

enum irq_change insn_irq_change(const struct pt_insn *insn);
enum code_branch insn_code_branch(const struct pt_insn *insn);
/* Whether it waits for an interrupt. */
bool insn_waits(const struct pt_insn *insn);

/* Whether the byte may begin an instruction known to insn_irq_change(). */
bool insns_may_change_irqs(uint8_t byte);
/* The same for insn_waits(). */
bool insns_may_wait(const uint8_t *bytes, size_t size);

#endif
