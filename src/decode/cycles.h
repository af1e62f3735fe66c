/* SPDX-License-Identifier: GPL-2.0-only */
/* Core cycles, which CYC packets count: libipt's block decoder makes time of them, and tells no
 * more. */
#ifndef DECODE_CYCLES_H
#define DECODE_CYCLES_H

#include <stdbool.h>
#include <stdint.h>

#include <intel-pt.h>

struct cycles {
	struct pt_packet_decoder *packets; /* NULL: there are none */
	uint64_t at;			   /* offset of the block decoder */
	uint64_t before;		   /* cycles up to there that were not taken */
};

/* Returns 0 or -ENOMEM. */
int cycles_begin(struct cycles *cycles, bool wanted, const struct pt_config *config);
void cycles_end(struct cycles *cycles);

/* The decoder went on. Returns the cycles since. */
uint64_t cycles_pass(struct cycles *cycles, const struct pt_block_decoder *decoder);

/* Up to the last packet that the decoder has used, since the last call. */
uint32_t cycles_take(struct cycles *cycles, const struct pt_block_decoder *decoder);

/* Up to where the decoder stands: all that were not taken. */
uint32_t cycles_rest(struct cycles *cycles);

#endif
