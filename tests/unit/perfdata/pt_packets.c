// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "pt_packets.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"
#include "util.h"

/* In separate memory, so that a sanitizer sees reads past the end. */
static bool read_copy(const char *bytes, size_t len, size_t bip_len, struct pt_packet *packet)
{
	_cleanup_free_ uint8_t *copy = malloc(len ?: 1);

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	return pt_packet_read(copy, len, bip_len, packet);
}

TEST(reads_each_packet)
{
	static const struct {
		const char *bytes;
		size_t len;
		enum pt_packet_type type;
		uint64_t value;
	} rows[] = {
		{ "\x00", 1, PT_PACKET_PAD, 0 },
		{ "\x06", 1, PT_PACKET_BRANCH, 0 },
		{ "\xfe", 1, PT_PACKET_BRANCH, 0 },
		{ "\x04", 1, PT_PACKET_BRANCH, 0 },
		{ "\x02\xa3zzzzzz", 8, PT_PACKET_BRANCH, 0 },
		{ "\x0d", 1, PT_PACKET_BRANCH, 0 },
		{ "\x2dzz", 3, PT_PACKET_BRANCH, 0 },
		{ "\x51zzzz", 5, PT_PACKET_BRANCH, 0 },
		{ "\x61zzzzzz", 7, PT_PACKET_BRANCH, 0 },
		{ "\x9dzzzzzz", 7, PT_PACKET_OTHER, 0 },
		{ "\xddzzzzzzzz", 9, PT_PACKET_OTHER, 0 },
		{ "\x99\x01", 2, PT_PACKET_OTHER, 0 },
		{ "\xd9\x00z", 3, PT_PACKET_OTHER, 0 },
		{ "\xd9\xbfz", 3, PT_PACKET_OTHER, 0 },
		{ "\xd9\x40zzz", 5, PT_PACKET_OTHER, 0 },
		{ "\x59\x7f", 2, PT_PACKET_MTC, 0x7f },
		{ "\x19\x01\x02\x03\x04\x05\x06\xf7", 8, PT_PACKET_TSC, 0xf7060504030201 },
		{ "\xfb", 1, PT_PACKET_CYC, 31 },
		{ "\x0f\x03\x02", 3, PT_PACKET_CYC, 1 + 32 + 4096 },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, PT_PACKET_CYC,
		  0x3fffffffffffffff },
		{ "\x02\x03\x2az", 4, PT_PACKET_CBR, 42 },
		{ "\x02\x12zzzz", 6, PT_PACKET_OTHER, 0 },
		{ "\x02\xb2zzzzzzzz", 10, PT_PACKET_OTHER, 0 },
		{ "\x02\x13\x81\x0e", 4, PT_PACKET_CFE, 1 },
		{ "\x02\x13\x03z", 4, PT_PACKET_CFE, PT_CFE_SMI },
		{ "\x02\x22zz", 4, PT_PACKET_OTHER, 0 },
		{ "\x02\x23", 2, PT_PACKET_PSBEND, 0 },
		{ "\x02\x33", 2, PT_PACKET_BEP, 0 },
		{ "\x02\xb3", 2, PT_PACKET_BEP, 0 },
		{ "\x02\x43zzzzzz", 8, PT_PACKET_OTHER, 0 },
		{ "\x02\x53zzzzzzzzz", 11, PT_PACKET_OTHER, 0 },
		{ "\x02\x62", 2, PT_PACKET_OTHER, 0 },
		{ "\x02\xe2", 2, PT_PACKET_OTHER, 0 },
		{ "\x02\x63\x84", 3, PT_PACKET_BBP, 5 },
		{ "\x02\x63\x04", 3, PT_PACKET_BBP, 9 },
		{ "\x02\x73\x34\x12z\x78\xff", 7, PT_PACKET_TMA, 0x1234 },
		{ "\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82", 16,
		  PT_PACKET_PSB, 0 },
		{ "\x02\x83", 2, PT_PACKET_OTHER, 0 },
		{ "\x02\xa2zzzzz", 7, PT_PACKET_OTHER, 0 },
		{ "\x02\xc2zzzzzzzz", 10, PT_PACKET_OTHER, 0 },
		{ "\x02\xc3\x88zzzzzzzz", 11, PT_PACKET_OTHER, 0 },
		{ "\x02\xc8zzzzz", 7, PT_PACKET_OTHER, 0 },
		{ "\x02\xf3", 2, PT_PACKET_OVF, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pt_packet packet;
		char more[32] = {};

		memcpy(more, rows[i].bytes, rows[i].len);
		assert_true(read_copy(more, sizeof(more), 0, &packet));
		assert_int_equal(packet.len, rows[i].len);
		assert_int_equal(packet.type, rows[i].type);
		assert_true(packet.value == rows[i].value);
		assert_int_equal(packet.fast, packet.type == PT_PACKET_TMA ? 0x178 : 0);
		assert_true(read_copy(more, rows[i].len, 0, &packet));
		for (size_t len = 0; len < rows[i].len; len++)
			assert_false(read_copy(more, len, 0, &packet));
	}
}

/* In a block, an item may begin like a TNT packet. */
TEST(reads_items_of_a_block)
{
	struct pt_packet packet;

	assert_true(read_copy("\x0czzzz", 5, 5, &packet));
	assert_int_equal(packet.len, 5);
	assert_int_equal(packet.type, PT_PACKET_OTHER);
	assert_false(read_copy("\x0czzzz", 5, 9, &packet));
	assert_true(read_copy("\x02\x33", 2, 9, &packet));
	assert_int_equal(packet.type, PT_PACKET_BEP);
}

TEST(refuses_what_is_unknown)
{
	static const char *const rows[] = {
		"\x02\xff",
		"\x02\x52zzzzzzzz",
		"\x02\x72zzzzzzzz",
		"\x02\xc3\x87zzzzzzzz",
		"\x02\x82\x02\x82\x02",
		"\xadzzzzzzzz",
		"\xfdzzzzzzzz",
		"\x79zzzzzzzz",
		"\x05zzzzzzzz",
		"\xc9zzzzzzzz",
		/* More than 64 bits */
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pt_packet packet;
		char more[32] = {};

		strcpy(more, rows[i]);
		assert_false(read_copy(more, sizeof(more), 0, &packet));
	}
}
