// SPDX-License-Identifier: GPL-2.0-only
#include "pt/blocks_internal.h"

#include <string.h>

#include "code/insns.h"

struct resume {
	struct pt_packet_decoder *packets; /* on the original trace, which is not modified */
	uint8_t *copy;			   /* with room for a PSB before the continuation */
	uint64_t last_ip;
	struct pt_packet_mode_exec mode;
	bool overflowed;
	bool bound;    /* the next FUP belongs to an event */
	bool in_state; /* between PSB and PSBEND */
	bool guest;    /* a virtual machine runs, whose code is another */
};

int resume_new(struct resume **ret, struct pt_config *config)
{
	struct resume *resume = calloc(1, sizeof(*resume));
	size_t size = (size_t)(config->end - config->begin);

	if (!resume)
		return -ENOMEM;
	resume->mode.csl = 1;
	resume->packets = pt_pkt_alloc_decoder(config);
	resume->copy = malloc(PSB_STATE_SIZE + size);
	if (!resume->packets || !resume->copy) {
		resume_free(resume);
		return -ENOMEM;
	}
	memcpy(resume->copy + PSB_STATE_SIZE, config->begin, size);
	(void)pt_pkt_sync_set(resume->packets, 0);
	config->begin = resume->copy;
	config->end = resume->copy + PSB_STATE_SIZE + size;
	*ret = resume;
	return 0;
}

void resume_free(struct resume *resume)
{
	if (!resume)
		return;
	pt_pkt_free_decoder(resume->packets);
	free(resume->copy);
	free(resume);
}

/* Packets have only the part of an address that differs from the previous one. */
static bool update_last_ip(struct resume *resume, const struct pt_packet_ip *packet)
{
	static const uint8_t bits[] = {
		[pt_ipc_update_16] = 16, [pt_ipc_update_32] = 32, [pt_ipc_sext_48] = 48,
		[pt_ipc_update_48] = 48, [pt_ipc_full] = 64,
	};
	unsigned int unknown =
		(size_t)packet->ipc < ARRAY_SIZE(bits) ? 64u - bits[packet->ipc] : 64;

	if (unknown == 64)
		return false;
	if (packet->ipc == pt_ipc_sext_48)
		resume->last_ip = (uint64_t)((int64_t)(packet->ip << unknown) >> unknown);
	else
		resume->last_ip =
			(unknown ? resume->last_ip >> (64 - unknown) << (64 - unknown) : 0) |
			packet->ip;
	return true;
}

/* Whether a FUP with the address follows, and the CPU continued. */
static bool binds_next_fup(const struct pt_packet *packet)
{
	switch (packet->type) {
	case ppt_mode:
		return packet->payload.mode.leaf == pt_mol_tsx;
	case ppt_exstop:
		return packet->payload.exstop.ip;
	case ppt_ptw:
		return packet->payload.ptw.ip;
#if LIBIPT_VERSION >= 0x201
	case ppt_cfe:
		return packet->payload.cfe.ip;
#endif
	default:
		return false;
	}
}

/* A FUP followed by TIP or TIP.PGD is an event: decoding begins before it. */
static bool fup_begins_event(const struct resume *resume)
{
	struct pt_packet_decoder *packets = resume->packets;
	struct pt_packet packet = { 0 };
	uint64_t at = 0;

	(void)pt_pkt_get_offset(packets, &at);
	while (pt_pkt_next(packets, &packet, sizeof(packet)) >= 0) {
		if (packet.type == ppt_tip || packet.type == ppt_tip_pgd ||
		    packet.type == ppt_tip_pge || packet.type == ppt_fup ||
		    packet.type == ppt_tnt_8 || packet.type == ppt_tnt_64 ||
		    packet.type == ppt_ovf || packet.type == ppt_psb)
			break;
	}
	(void)pt_pkt_sync_set(packets, at);
	return packet.type == ppt_tip || packet.type == ppt_tip_pgd;
}

/* Whether decoding of the host's code can continue after the packet, or at one that begins an
 * event. */
static bool can_resume_after(struct resume *resume, const struct pt_packet *packet)
{
	bool bound;

	resume->bound |= binds_next_fup(packet);
	switch (packet->type) {
	case ppt_psb:
	case ppt_psbend:
		if (packet->type == ppt_psb)
			resume->last_ip = 0;
		resume->in_state = packet->type == ppt_psb;
		return false;
	case ppt_mode:
		if (packet->payload.mode.leaf == pt_mol_exec)
			resume->mode = packet->payload.mode.bits.exec;
		return false;
	case ppt_ovf:
		resume->overflowed = true;
		return false;
	case ppt_pip:
		resume->guest = packet->payload.pip.nr;
		return false;
	case ppt_tip:
	case ppt_tip_pge:
		return update_last_ip(resume, &packet->payload.ip) && !resume->guest;
	case ppt_tip_pgd:
		(void)update_last_ip(resume, &packet->payload.ip);
		return false;
	case ppt_fup:
		if (!update_last_ip(resume, &packet->payload.ip) || resume->guest)
			return false;
		bound = resume->bound;
		resume->bound = false;
		return !resume->in_state &&
		       (resume->overflowed || (!bound && fup_begins_event(resume)));
	default:
		return false;
	}
}

bool resume_find(struct resume *resume, uint64_t offset, struct resume_point *point)
{
	struct pt_packet packet;
	uint64_t at = 0;

	while (pt_pkt_get_offset(resume->packets, &at) >= 0 &&
	       pt_pkt_next(resume->packets, &packet, sizeof(packet)) >= 0) {
		bool is_event = packet.type == ppt_fup && !resume->overflowed;
		bool told = can_resume_after(resume, &packet);

		*point = (struct resume_point){
			.ip = resume->last_ip,
			.offset = is_event ? at : at + packet.size,
			.overflowed = resume->overflowed,
			.is_event = is_event,
		};
		if (told)
			resume->overflowed = false;
		if (told && at >= offset)
			return true;
	}
	return false;
}

uint64_t resume_write(struct resume *resume, const struct resume_point *point)
{
	psb_write(resume->copy + point->offset, point->ip,
		  (uint8_t)(resume->mode.csl | resume->mode.csd << 1));
	return point->offset;
}

uint64_t resume_offset(uint64_t offset)
{
	return offset >= PSB_STATE_SIZE ? offset - PSB_STATE_SIZE : 0;
}
