/* SPDX-License-Identifier: GPL-2.0-only */
/* Iterates over the instructions of straight code, with libipt. */
#ifndef DECODE_INSNS_H
#define DECODE_INSNS_H

#include <intel-pt.h>

#include "code/code.h"
#include "util.h"

struct insns;

int insns_new(struct insns **ret) _must_check_;
void insns_free(struct insns *insns);

/* Starts at an address of the image. Returns 0 or libipt's error. */
int insns_begin(struct insns *insns, struct pt_image *image, uint64_t ip,
		enum pt_exec_mode mode) _must_check_;

/* Gets the next instruction; a branch is the last. False: end. */
bool insns_next(struct insns *insns, struct pt_insn *insn);

enum irq_change insns_irqs(const struct pt_insn *insn);
enum code_branch insns_branch(const struct pt_insn *insn);

/* Whether the byte may begin an instruction known to insns_irqs(). */
bool insns_may_change_irqs(uint8_t byte);

#endif
