// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Our packet reader agrees with libipt's. */
#include "pt_packets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
/* Two names clash with ours. */
#define pt_packet ipt_packet
#define pt_packet_type ipt_packet_type
#include <intel-pt.h>
#undef pt_packet
#undef pt_packet_type

#include "realpt.h"
#include "util.h"

static struct pt_packet_decoder *decoder_of(const uint8_t *bytes, size_t len)
{
	struct pt_config config;
	struct pt_packet_decoder *decoder;

	pt_config_init(&config);
	config.begin = (uint8_t *)bytes;
	config.end = config.begin + len;
	decoder = pt_pkt_alloc_decoder(&config);
	assert_non_null(decoder);
	return decoder;
}

static enum pt_packet_type type_of(const struct ipt_packet *packet)
{
	switch (packet->type) {
	case ppt_tnt_8:
	case ppt_tnt_64:
	case ppt_tip:
	case ppt_tip_pge:
	case ppt_tip_pgd:
		return PT_PACKET_BRANCH;
	case ppt_pad:
		return PT_PACKET_PAD;
	case ppt_psb:
		return PT_PACKET_PSB;
	case ppt_psbend:
		return PT_PACKET_PSBEND;
	case ppt_tsc:
		return PT_PACKET_TSC;
	case ppt_tma:
		return PT_PACKET_TMA;
	case ppt_mtc:
		return PT_PACKET_MTC;
	case ppt_cyc:
		return PT_PACKET_CYC;
	case ppt_cbr:
		return PT_PACKET_CBR;
	case ppt_ovf:
		return PT_PACKET_OVF;
#if LIBIPT_VERSION >= 0x201
	case ppt_cfe:
		return PT_PACKET_CFE;
#endif
	default:
		return PT_PACKET_OTHER;
	}
}

static uint64_t value_of(const struct ipt_packet *packet)
{
	switch (packet->type) {
	case ppt_tsc:
		return packet->payload.tsc.tsc;
	case ppt_tma:
		return packet->payload.tma.ctc;
	case ppt_mtc:
		return packet->payload.mtc.ctc;
	case ppt_cyc:
		return packet->payload.cyc.value;
	case ppt_cbr:
		return packet->payload.cbr.ratio;
#if LIBIPT_VERSION >= 0x201
	case ppt_cfe:
		return packet->payload.cfe.type;
#endif
	default:
		return 0;
	}
}

static void check_same(const struct pt_packet *ours, const struct ipt_packet *theirs)
{
	assert_int_equal(ours->len, theirs->size);
	assert_int_equal(ours->type, type_of(theirs));
	assert_int_equal(ours->value, value_of(theirs));
	assert_int_equal(ours->fast, theirs->type == ppt_tma ? theirs->payload.tma.fc : 0);
}

/* libipt 2.0 lacks newer packets, and all versions lack those of PEBS via PT; libipt refuses
 * reserved bits, and the longest CYC that perf accepts. */
static bool is_ours_alone(const uint8_t *at, const struct pt_packet *packet)
{
	if (at[0] == 0x02)
		return memchr("\x13\x33\x53\x63\xb3", at[1], 5) || (at[1] == 0x73 && at[6] > 1);
	return at[0] == 0xd9 || (at[0] == 0x99 && at[1] >= 0x40) ||
	       (packet->type == PT_PACKET_CYC && packet->len == 10);
}

#define SLOT 16

static void fill(uint8_t *at, unsigned int first, unsigned int second, unsigned int round)
{
	for (size_t i = 0; i < SLOT; i++)
		at[i] = round ? (uint8_t)rand() | (round == 3) : (i % 2 ? 0x82 : 0x02);
	at[0] = (uint8_t)first;
	at[1] = (uint8_t)second;
	if (round == 2)
		at[2] = 0x88;
}

/* All first two bytes of a packet. */
static void reads_what_libipt_reads(void **state)
{
	const size_t len = (size_t)4 * 65536 * SLOT;
	_cleanup_free_ uint8_t *bytes = malloc(len + SLOT);
	struct pt_packet_decoder *decoder;

	assert_non_null(bytes);
	srand(1);
	memset(bytes + len, 0, SLOT);
	for (unsigned int i = 0; i < len / SLOT; i++)
		fill(bytes + i * SLOT, i & 0xff, i >> 8 & 0xff, i >> 16);
	decoder = decoder_of(bytes, len + SLOT);
	for (size_t at = 0; at < len; at += SLOT) {
		struct ipt_packet theirs;
		struct pt_packet ours;

		assert_int_equal(pt_pkt_sync_set(decoder, at), 0);
		if (pt_pkt_next(decoder, &theirs, sizeof(theirs)) < 0) {
			if (pt_packet_read(bytes + at, len + SLOT - at, 0, &ours) &&
			    !is_ours_alone(bytes + at, &ours))
				fail_msg("libipt refuses %02x %02x", bytes[at], bytes[at + 1]);
			continue;
		}
		assert_true(pt_packet_read(bytes + at, len + SLOT - at, 0, &ours));
		check_same(&ours, &theirs);
	}
	pt_pkt_free_decoder(decoder);
}

/* The time of each PSB is libipt's. */
static void check_point(struct pt_psb *point, const struct ipt_packet *packet, size_t at,
			const struct realpt_raw *raw, const uint8_t *bytes)
{
	if (packet->type == ppt_psb) {
		assert_int_equal(pt_psb_find_timed(bytes, raw->size, at, point), 1);
		assert_int_equal(point->offset, at);
	} else if (packet->type == ppt_tsc && point->tsc) {
		assert_int_equal(packet->payload.tsc.tsc, point->tsc);
		point->tsc = 0;
	} else if (packet->type == ppt_psbend) {
		assert_int_equal(point->tsc, 0);
	}
}

/* From the first PSB to where both stop. */
static void compare(const struct realpt_raw *raw, const uint8_t *bytes)
{
	struct pt_packet_decoder *decoder = decoder_of(bytes, raw->size);
	size_t packets = 0, points = 0;
	struct ipt_packet theirs;
	struct pt_psb point = {};
	struct pt_packet ours;
	uint64_t at, next;

	assert_int_equal(pt_pkt_sync_forward(decoder), 0);
	assert_int_equal(pt_pkt_get_offset(decoder, &at), 0);
	for (; pt_pkt_next(decoder, &theirs, sizeof(theirs)) >= 0; at = next) {
		assert_true(pt_packet_read(bytes + at, raw->size - at, 0, &ours));
		check_same(&ours, &theirs);
		check_point(&point, &theirs, at, raw, bytes);
		assert_int_equal(pt_pkt_get_offset(decoder, &next), 0);
		assert_int_equal(next, at + ours.len);
		packets++;
		points += theirs.type == ppt_psb && point.tsc;
	}
	assert_false(pt_packet_read(bytes + at, raw->size - at, 0, &ours));
	assert_int_equal(packets, raw->packets);
	assert_int_equal(points, raw->points);
	pt_pkt_free_decoder(decoder);
}

static void reads_recordings_as_libipt(void **state)
{
	for (const struct realpt_raw *raw = realpt_raws; raw->name; raw++) {
		size_t len;
		_cleanup_free_ uint8_t *bytes = realpt_read("raw", raw->name, &len);

		assert_int_equal(len, raw->size);
		compare(raw, bytes);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest any[] = { cmocka_unit_test(reads_what_libipt_reads) };
	const struct CMUnitTest recorded[] = { cmocka_unit_test(reads_recordings_as_libipt) };

	if (argc < 2)
		return cmocka_run_group_tests(any, NULL, NULL);
	if (!realpt_find(argv[1]))
		return 77;
	return cmocka_run_group_tests(recorded, NULL, NULL);
}
