// SPDX-License-Identifier: GPL-2.0-only
#include "psb.h"

#include <stdlib.h>
#include <string.h>

#define PSBEND_SIZE 2

static bool is_mode(const struct pt_packet *packet)
{
	return packet->type == ppt_mode && packet->payload.mode.leaf == pt_mol_exec;
}

/* Up to PSBEND, or the end. */
static void read_state(struct pt_packet_decoder *decoder, struct psb *psb)
{
	struct pt_packet packet = { 0 };

	while (packet.type != ppt_psbend) {
		if (pt_pkt_next(decoder, &packet, sizeof(packet)) < 0)
			return;
		psb->modes += is_mode(&packet);
	}
	(void)pt_pkt_get_offset(decoder, &psb->size);
}

static bool comes_without_mode(struct pt_packet_decoder *decoder)
{
	struct pt_packet packet = { 0 };

	while (pt_pkt_next(decoder, &packet, sizeof(packet)) >= 0) {
		switch (packet.type) {
		case ppt_tip_pge:
		case ppt_tip:
		case ppt_fup:
		case ppt_tnt_8:
		case ppt_tnt_64:
		case ppt_ovf:
			return true;
		case ppt_psb:
			return false;
		default:
			if (is_mode(&packet))
				return false;
		}
	}
	return false;
}

struct psb psb_read(const struct pt_config *config, const uint8_t *begin, const uint8_t *end)
{
	struct pt_packet_decoder *decoder;
	struct pt_config here = *config;
	struct psb psb = { 0 };

	here.begin = (uint8_t *)begin;
	here.end = (uint8_t *)end;
	decoder = pt_pkt_alloc_decoder(&here);
	if (!decoder)
		return psb;
	if (!pt_pkt_sync_set(decoder, 0))
		read_state(decoder, &psb);
	psb.no_mode = psb.size && !psb.modes && comes_without_mode(decoder);
	pt_pkt_free_decoder(decoder);
	return psb;
}

uint8_t *psb_with_mode(const struct psb *psb, const uint8_t *begin, const uint8_t *end)
{
	static const uint8_t mode[PSB_MODE_SIZE] = { 0x99, 0x01 };
	size_t size = (size_t)(end - begin), at = psb->size - PSBEND_SIZE;
	uint8_t *copy = malloc(size + sizeof(mode));

	if (!copy)
		return NULL;
	memcpy(copy, begin, at);
	memcpy(copy + at, mode, sizeof(mode));
	memcpy(copy + at + sizeof(mode), begin + at, size - at);
	return copy;
}
