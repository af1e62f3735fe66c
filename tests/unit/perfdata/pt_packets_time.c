// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The time after packets: TSC, refined by MTC and CYC. */
#include "pt_packets.h"

#include "test.h"
#include "util.h"

#define CBR(ratio) "\x02\x03" ratio "\0"
#define TSC_1000 "\x19\xe8\x03\0\0\0\0\0"
#define TSC_100000 "\x19\xa0\x86\x01\0\0\0\0"
#define TSC_1000000 "\x19\x40\x42\x0f\0\0\0\0"
#define CYC_5 "\x2b"
#define CYC_31 "\xfb"
#define TNT "\x06"
#define OVF "\x02\xf3"
/* CTC became 0x7fb 7 ticks of TSC ago. */
#define TMA "\x02\x73\xfb\x07\x00\x07\x00"
#define BBP "\x02\x63\x04"
#define BEP "\x02\x33"
/* In a block; the first byte is also that of TNT and other packets, but of 9 bytes. */
#define BIP "\x04\x59\x09\x19\x59\x09\x19\x59\x09"

/* 125 ticks of TSC for each of CTC; an MTC packet each 8 of CTC */
static const struct pt_clock usual = { 20, 250, 2, 3 };
static const struct pt_clock rare = { 20, 1, 1, 12 }, no_ctc = { .max_nonturbo_ratio = 20 };
static const struct pt_clock too_rare = { 20, 1, 1, 16 };

#define ROW(clock, now, bytes)                                                                     \
	{                                                                                          \
		&(clock), (now), (bytes), sizeof(bytes) - 1                                        \
	}

static const struct {
	const struct pt_clock *clock;
	uint64_t now;
	const char *bytes;
	size_t len;
} rows[] = {
	ROW(usual, 1000, TSC_1000),
	/* Each cycle of the core is two of the TSC; the ratio of before applies to those before. */
	ROW(usual, 1010, TSC_1000 CBR("\x0a") CYC_5 TNT),
	ROW(usual, 1072, TSC_1000 CBR("\x0a") CYC_5 TNT CYC_31),
	ROW(usual, 1000 + 2 * (1 + 32 + 4096), TSC_1000 CBR("\x0a") "\x0f\x03\x02"),
	ROW(usual, 1025, TSC_1000 CBR("\x0a") CYC_5 CYC_5 CBR("\x28") CYC_5 CYC_5),
	ROW(usual, 1000, TSC_1000 CYC_5),
	ROW(usual, 1000, CYC_31 TSC_1000 CBR("\x0a")),
	ROW(usual, 99993 + 5 * 125, TSC_100000 TMA "\x59\x00"),
	/* Two are missing. */
	ROW(usual, 99993 + 29 * 125, TSC_100000 TMA "\x59\x00\x59\x03"),
	ROW(usual, 99993 + 37 * 125, TSC_100000 TMA "\x59\x00\x59\x03\x59\x04"),
	ROW(usual, 99993 + 5 * 125 + 10, TSC_100000 CBR("\x0a") TMA "\x59\x00" CYC_5),
	/* An MTC packet may have bits of CTC that the previous TMA packet lacks. */
	ROW(rare, 1000000 + 0x2000, TSC_1000000 "\x02\x73\x00\xe0\0\0\0\x59\x5f\x59\x60"),
	ROW(rare, 1000000 + 0x22000, TSC_1000000 "\x02\x73\x00\xe0\0\0\0\x59\x5f\x59\x60\x59\x80"),
	/* What relates CTC to TSC is not known. */
	ROW(no_ctc, 100000, TSC_100000 TMA "\x59\x03"),
	ROW(too_rare, 100000, TSC_100000 TMA "\x59\x03"),
	ROW(usual, 100000, TSC_100000 "\x59\x03"),
	ROW(usual, 100000, TSC_1000 TMA TSC_100000 "\x59\x03"),
	ROW(usual, 100000, TSC_100000 TMA OVF "\x59\x03"),
	ROW(usual, 1010, TSC_1000 CBR("\x0a") BBP BIP BEP CYC_5),
	ROW(usual, 1010, TSC_1000 CBR("\x0a") BBP BIP OVF CYC_5 TNT),
};

static void walk_bytes(struct pt_walk *walk, const char *bytes, size_t len)
{
	struct pt_packet packet;

	for (; len; bytes += packet.len, len -= packet.len) {
		assert_true(pt_packet_read((const uint8_t *)bytes, len, walk->bip_len, &packet));
		pt_walk_packet(walk, &packet);
	}
}

TEST(knows_the_time)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pt_walk walk = { .clock = rows[i].clock };

		walk_bytes(&walk, rows[i].bytes, rows[i].len);
		assert_true(walk.synced);
		assert_int_equal(pt_walk_current_tsc(&walk), rows[i].now);
	}
}

/* Of TSC and MTC, not of cycles */
TEST(counts_what_had_a_time)
{
	struct pt_walk walk = { .clock = &usual };

	walk_bytes(&walk, CYC_5, 1);
	assert_false(walk.synced);
	walk_bytes(&walk, TSC_100000 TMA "\x59\x00" CYC_5, 8 + 7 + 2 + 1);
	assert_int_equal(walk.told, 2);
}
