// SPDX-License-Identifier: GPL-2.0-only
/* Synchronisation points: finds them without reading all bytes before them, and reads the state
 * there. */
#include "pt/trace_internal.h"

#include <string.h>

#include "pt_packets.h"

/* Bytes searched at once: several times the usual distance of points. */
#define STRIDE (64 * 1024)
/* A PSB, and what looks like its begin before it */
#define LOOK_AHEAD (2 * PT_PSB_LEN)

static void make_trace_point(struct trace_point *point, const struct pt_psb *psb, uint64_t near)
{
	point->offset = psb->offset;
	point->tsc = psb->tsc && near ? trace_clock_extend(psb->tsc, near) : psb->tsc;
}

bool trace_find_point(const struct trace_queue *queue, size_t size, size_t from, bool timed,
		      struct trace_point *point)
{
	struct pt_psb psb;

	do {
		if (!pt_psb_find_timed(queue->bytes, size, from, &psb))
			return false;
		from = psb.offset + PT_PSB_LEN;
	} while (timed && !psb.tsc);
	make_trace_point(point, &psb, queue->near);
	return true;
}

/* The last complete PSB that begins from `begin` on and before `before`. */
static bool find_last_psb(const struct trace_queue *queue, size_t begin, size_t before,
			  size_t *offset)
{
	size_t size = queue->size, at;
	size_t end = size - before < LOOK_AHEAD ? size : before + LOOK_AHEAD;
	bool found = false;

	for (; pt_psb_find(queue->bytes, end, begin, &at) && at < before; begin = at + PT_PSB_LEN) {
		*offset = at;
		found = true;
	}
	return found;
}

bool trace_find_point_before(const struct trace_queue *queue, size_t before, bool timed,
			     struct trace_point *point)
{
	while (before) {
		size_t begin = before > STRIDE ? before - STRIDE : 0, until = before;
		struct pt_psb psb;
		size_t offset;

		before = begin;
		while (find_last_psb(queue, begin, until, &offset)) {
			pt_psb_find_timed(queue->bytes, queue->size, offset, &psb);
			if (psb.tsc || !timed) {
				make_trace_point(point, &psb, queue->near);
				return true;
			}
			until = offset;
		}
	}
	return false;
}

bool trace_seek_point(const struct trace_queue *queue, uint64_t tsc, struct trace_point *point)
{
	size_t low = 0, high = queue->size, size = high;
	struct trace_point next;

	/* Points before `low` are not newer than the TSC; points from `high` on are. */
	while (high - low > STRIDE) {
		size_t middle = low + (high - low) / 2;

		if (trace_find_point(queue, high, middle, true, &next) && next.tsc <= tsc)
			low = next.offset + PT_PSB_LEN;
		else
			high = middle;
	}
	if (!trace_find_point_before(queue, low, true, point) &&
	    !trace_find_point(queue, size, 0, false, point))
		return false;
	while (trace_find_point(queue, size, point->offset + PT_PSB_LEN, false, &next) &&
	       next.tsc <= tsc)
		*point = next;
	return true;
}

/* The packet MODE.Exec: first byte, and upper bits of the second. */
#define MODE 0x99
#define MODE_EXEC 0
/* PIP: its two bytes, and the bit NR behind them. */
#define PIP 0x43
#define PIP_NR 1
/* FUP: low bits of the first byte. */
#define IP_MASK 0x1f
#define FUP 0x1d

static bool is_mode_exec(const uint8_t *at)
{
	return *at == MODE && at[1] >> 5 == MODE_EXEC;
}

/* Whether the packet means that code ran. */
static bool packet_follows_code(const uint8_t *at, const struct pt_packet *packet)
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
		if (psb.size ? packet_follows_code(at, &packet)
			     : packet.type == PT_PACKET_BRANCH || packet.type == PT_PACKET_OVF) {
			psb.no_mode = psb.size;
			break;
		}
		if (packet.type == PT_PACKET_PSB && at > begin)
			break;
		if (psb.size && is_mode_exec(at))
			break;
		psb.modes += is_mode_exec(at);
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
