// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "pt_scan.h"

#include <string.h>

#include "pt_packet.h"

static bool is_after(uint64_t tsc, uint64_t moment)
{
	return (int64_t)((tsc - moment) << 8) > 0;
}

/* Packets between PSB and PSBEND have no fixed order. A packet that cannot occur there, such as the
 * next PSB, means that PSB+ was truncated; stopping there keeps the scan of a whole trace
 * linear. */
static uint64_t psb_tsc(const uint8_t *trace, size_t len, size_t at)
{
	struct pt_packet packet;
	uint64_t tsc = 0;

	for (; pt_packet_read(trace + at, len - at, 0, &packet); at += packet.len) {
		switch (packet.type) {
		case PT_PACKET_TSC:
			tsc = packet.value;
			break;
		case PT_PACKET_PSBEND:
			return tsc;
		case PT_PACKET_BRANCH:
		case PT_PACKET_PSB:
		case PT_PACKET_OVF:
			return 0;
		default:
			break;
		}
	}
	return 0;
}

/* The packets before a PSB may end with bytes that look like its begin, such as CYC and TNT. No PSB
 * directly follows another one: it is the last place where the bytes fit. */
bool pt_scan_find(const uint8_t *trace, size_t len, size_t from, size_t *offset)
{
	const uint8_t *at, *end = trace + len;

	if (from >= len)
		return false;
	at = memmem(trace + from, len - from, PT_PSB_BYTES, PT_PSB_LEN);
	if (!at)
		return false;
	while (end - at >= PT_PSB_LEN + 2 && !memcmp(at + PT_PSB_LEN, PT_PSB_BYTES, 2))
		at += 2;
	*offset = (size_t)(at - trace);
	return true;
}

int pt_scan_psb(const uint8_t *trace, size_t len, size_t from, struct pt_psb *psb)
{
	if (!pt_scan_find(trace, len, from, &psb->offset))
		return 0;
	psb->tsc = psb_tsc(trace, len, psb->offset + PT_PSB_LEN);
	return 1;
}

uint64_t pt_scan_tsc(const uint8_t *trace, size_t len, size_t from)
{
	struct pt_psb psb = {};

	while (!psb.tsc && pt_scan_psb(trace, len, from, &psb))
		from = psb.offset + PT_PSB_LEN;
	return psb.tsc;
}

size_t pt_scan_begin(const uint8_t *trace, size_t len, uint64_t since_tsc)
{
	struct pt_psb psb;
	size_t begin = len;
	bool old = true; /* the point at begin is older than since_tsc */

	for (size_t from = 0; pt_scan_psb(trace, len, from, &psb); from = psb.offset + PT_PSB_LEN) {
		bool is_old = psb.tsc && is_after(since_tsc, psb.tsc);

		if (old || is_old)
			begin = psb.offset;
		old = is_old;
		if (psb.tsc && !old)
			break;
	}
	return begin;
}
