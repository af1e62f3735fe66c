/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DECODE_ENDS_H
#define DECODE_ENDS_H

#include "decode.h"

/* How code that was executed to its end, and went on at `to`, ended. */
enum decode_end block_end(const struct code_block *code, uint64_t to);

#endif
