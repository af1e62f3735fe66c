// SPDX-License-Identifier: GPL-2.0-only
#include "cycles.h"

#include "util.h"

int cycles_begin(struct cycles *cycles, bool wanted, const struct pt_config *config)
{
	if (!wanted)
		return 0;
	cycles->packets = pt_pkt_alloc_decoder(config);
	if (!cycles->packets)
		return -ENOMEM;
	if (pt_pkt_sync_set(cycles->packets, 0) < 0)
		cycles_end(cycles);
	return 0;
}

void cycles_end(struct cycles *cycles)
{
	if (cycles->packets)
		pt_pkt_free_decoder(cycles->packets);
	cycles->packets = NULL;
}

static uint64_t count(struct cycles *cycles, uint64_t end)
{
	struct pt_packet packet;
	uint64_t at, sum = 0;

	while (!pt_pkt_get_offset(cycles->packets, &at) && at < end) {
		if (pt_pkt_next(cycles->packets, &packet, sizeof(packet)) < 0)
			break;
		if (packet.type == ppt_cyc)
			sum += packet.payload.cyc.value;
	}
	return sum;
}

uint64_t cycles_pass(struct cycles *cycles, const struct pt_block_decoder *decoder)
{
	uint64_t at, passed;

	if (!cycles->packets || pt_blk_get_offset(decoder, &at) || at == cycles->at)
		return 0;
	cycles->at = at;
	passed = count(cycles, at);
	cycles->before += passed;
	return passed;
}

static uint32_t clamp(uint64_t taken)
{
	return taken < UINT32_MAX ? (uint32_t)taken : UINT32_MAX;
}

/* The decoder reads ahead up to the next packet that says where code went, whose time the CYC
 * packets before it tell: what it passes now is of then. */
uint32_t cycles_take(struct cycles *cycles, const struct pt_block_decoder *decoder)
{
	uint64_t at = cycles->at, taken = cycles->before;
	uint64_t passed = cycles_pass(cycles, decoder);

	if (at == cycles->at)
		return 0;
	cycles->before = passed;
	return clamp(taken);
}

uint32_t cycles_rest(struct cycles *cycles)
{
	uint64_t rest = cycles->before;

	cycles->before = 0;
	return clamp(rest);
}
