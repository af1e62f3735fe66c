// SPDX-License-Identifier: GPL-2.0-only
#include "pt/psb.h"

#include <string.h>

#include "pt_packets.h"

#define PSBEND_SIZE 2
/* The packet MODE.Exec: first byte, and upper bits of the second. */
#define MODE 0x99
#define MODE_EXEC 0
/* PIP: its two bytes, and the bit NR behind them. */
#define PIP 0x43
#define PIP_NR 1
/* FUP: low bits of the first byte. */
#define IP_MASK 0x1f
#define FUP 0x1d
#define FUP_WHOLE 0xdd

static bool is_mode(const uint8_t *at)
{
	return *at == MODE && at[1] >> 5 == MODE_EXEC;
}

/* Whether the packet means that code ran. */
static bool tells_code(const uint8_t *at, const struct pt_packet *packet)
{
	return packet->type == PT_PACKET_BRANCH || packet->type == PT_PACKET_OVF ||
	       (*at & IP_MASK) == FUP;
}

struct psb psb_read(const uint8_t *begin, const uint8_t *end)
{
	const uint8_t *at = begin;
	struct pt_packet packet;
	struct psb psb = { 0 };

	for (; pt_packet_read(at, (size_t)(end - at), 0, &packet); at += packet.len) {
		if (psb.size ? tells_code(at, &packet)
			     : packet.type == PT_PACKET_BRANCH || packet.type == PT_PACKET_OVF) {
			psb.no_mode = psb.size;
			break;
		}
		if (packet.type == PT_PACKET_PSB && at > begin)
			break;
		if (psb.size && is_mode(at))
			break;
		psb.modes += is_mode(at);
		if (!psb.size && packet.len > 2 && *at == 2 && at[1] == PIP)
			psb.guest = at[2] & PIP_NR;
		psb.on |= !psb.size && (*at & IP_MASK) == FUP;
		if (packet.type == PT_PACKET_PSBEND)
			psb.size = (size_t)(at - begin) + packet.len;
		/* The rest matters only if PSB+ lacks the mode. */
		if (psb.size && psb.modes)
			break;
	}
	return psb;
}

/* PSB, MODE.Exec, FUP with a full address, PSBEND. */
void psb_write(uint8_t at[PSB_STATE_SIZE], uint64_t ip, uint8_t mode)
{
	const uint8_t rest[] = { MODE, mode, FUP_WHOLE };

	memcpy(at, PT_PSB_BYTES, PT_PSB_LEN);
	memcpy(at + PT_PSB_LEN, rest, sizeof(rest));
	memcpy(at + PT_PSB_LEN + sizeof(rest), &ip, sizeof(ip));
	memcpy(at + PSB_STATE_SIZE - PSBEND_SIZE, "\x02\x23", PSBEND_SIZE);
}
