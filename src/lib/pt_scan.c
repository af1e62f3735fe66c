// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "pt_scan.h"

#include <string.h>

/* Intel SDM volume 3, "Intel Processor Trace", packet definitions. */
#define PSB_LEN 16
#define PSB_BYTES "\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82"
#define TSC_OPCODE 0x19
#define TSC_LEN 8
#define TSC_MASK 0xffffffffffffffULL

/* The time stands right behind, when it is traced. */
static uint64_t psb_tsc(const uint8_t *trace, size_t len, size_t offset)
{
	uint64_t packet;

	if (len - offset < TSC_LEN || trace[offset] != TSC_OPCODE)
		return 0;
	memcpy(&packet, trace + offset, sizeof(packet));
	return packet >> 8;
}

int pt_scan_psb(const uint8_t *trace, size_t len, size_t from, struct pt_psb *psb)
{
	const uint8_t *at;

	if (from >= len)
		return 0;
	at = memmem(trace + from, len - from, PSB_BYTES, PSB_LEN);
	if (!at)
		return 0;
	psb->offset = at - trace;
	psb->tsc = psb_tsc(trace, len, psb->offset + PSB_LEN);
	return 1;
}

size_t pt_scan_begin(const uint8_t *trace, size_t len, uint64_t since_tsc, uint64_t *begin_tsc)
{
	struct pt_psb psb = {};
	size_t begin = len;

	*begin_tsc = 0;
	for (size_t from = 0; pt_scan_psb(trace, len, from, &psb); from = psb.offset + PSB_LEN) {
		begin = psb.offset;
		*begin_tsc = psb.tsc;
		if (psb.tsc >= (since_tsc & TSC_MASK))
			break;
	}
	return begin;
}
