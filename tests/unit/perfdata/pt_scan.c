// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* On synthetic traces: synchronisation points like the processor's, with zeros (PAD) or other bytes
 * in between. */
#include "pt_scan.h"

#include <string.h>

#include "test.h"
#include "util.h"

#define PSB_LEN 16
#define TSC_LEN 8
#define PSBEND "\x02\x23"
#define PSBEND_LEN 2
#define TIMED_PSB_LEN (PSB_LEN + TSC_LEN + PSBEND_LEN)
#define SIZE 512

struct trace {
	uint8_t bytes[SIZE];
	size_t len;
};

static void put_psb(struct trace *trace, size_t at)
{
	for (size_t i = 0; i < PSB_LEN; i++)
		trace->bytes[at + i] = i % 2 ? 0x82 : 0x02;
}

/* TSC packet: its opcode, then seven bytes. Broadwell puts it here. */
static void put_timed_psb(struct trace *trace, size_t at, uint64_t tsc)
{
	put_psb(trace, at);
	trace->bytes[at + PSB_LEN] = 0x19;
	for (size_t i = 1; i < TSC_LEN; i++, tsc >>= 8)
		trace->bytes[at + PSB_LEN + i] = tsc;
	memcpy(trace->bytes + at + PSB_LEN + TSC_LEN, PSBEND, PSBEND_LEN);
}

static void check_point(const struct trace *trace, size_t from, size_t offset, uint64_t tsc)
{
	struct pt_psb psb = {};

	assert_int_equal(pt_scan_psb(trace->bytes, trace->len, from, &psb), 1);
	assert_int_equal(psb.offset, offset);
	assert_int_equal(psb.tsc, tsc);
}

static void check_no_point(const struct trace *trace, size_t from)
{
	struct pt_psb psb = { 11, 12 };

	assert_int_equal(pt_scan_psb(trace->bytes, trace->len, from, &psb), 0);
	assert_int_equal(psb.offset, 11);
	assert_int_equal(psb.tsc, 12);
}

static void check_begin(const struct trace *trace, uint64_t since, size_t begin, uint64_t tsc)
{
	assert_int_equal(pt_scan_begin(trace->bytes, trace->len, since), begin);
	assert_int_equal(pt_scan_tsc(trace->bytes, trace->len, begin), tsc);
}

TEST(finds_nothing_without_psb)
{
	struct trace trace = { .len = SIZE };

	check_no_point(&trace, 0);
	check_begin(&trace, 0, SIZE, 0);
	check_begin(&trace, 1, SIZE, 0);
	memset(trace.bytes, 0x82, SIZE);
	check_no_point(&trace, 0);
	check_begin(&trace, 1, SIZE, 0);
	trace.len = 0;
	check_no_point(&trace, 0);
	check_begin(&trace, 0, 0, 0);
}

TEST(finds_points)
{
	struct trace trace = { .len = SIZE };

	put_timed_psb(&trace, 33, 0x77665544332211);
	put_timed_psb(&trace, 200, 0x77665544332299);
	check_point(&trace, 0, 33, 0x77665544332211);
	check_point(&trace, 33, 33, 0x77665544332211);
	check_point(&trace, 34, 200, 0x77665544332299);
	check_point(&trace, 200, 200, 0x77665544332299);
	check_no_point(&trace, 201);
	/* Bytes after the trace do not count. */
	trace.len = 150;
	check_no_point(&trace, 150);
	check_no_point(&trace, 151);
	check_no_point(&trace, 34);
}

/* A CYC packet, whose second byte is 02, and a TNT packet look like the begin of a PSB; so does an
 * address. */
TEST(finds_points_behind_similar_bytes)
{
	static const struct {
		size_t len;
		const char *bytes;
	} before[] = { { 3, "\x8f\x02\x82" }, { 5, "\x4d\x02\x82\x02\x82" } };

	for (size_t i = 0; i < ARRAY_SIZE(before); i++) {
		struct trace trace = { .len = SIZE };

		put_timed_psb(&trace, 33, 1000);
		memcpy(trace.bytes + 33 - before[i].len, before[i].bytes, before[i].len);
		check_point(&trace, 0, 33, 1000);
		check_point(&trace, 33, 33, 1000);
		check_no_point(&trace, 34);
	}
}

TEST(finds_points_without_time)
{
	struct trace trace = { .len = SIZE };

	put_psb(&trace, 8);
	check_point(&trace, 0, 8, 0);
	/* Another packet first (PSBEND). */
	trace.bytes[8 + PSB_LEN] = 0x02;
	trace.bytes[8 + PSB_LEN + 1] = 0x23;
	trace.bytes[8 + PSB_LEN + 2] = 0x19;
	check_point(&trace, 0, 8, 0);
	check_begin(&trace, 0, 8, 0);
	check_begin(&trace, 5, 8, 0);
}

/* Points without a time are not known to be old. */
TEST(keeps_points_without_time)
{
	struct trace trace = { .len = SIZE };

	put_psb(&trace, 0);
	put_psb(&trace, 32);
	check_begin(&trace, 1000, 0, 0);
	put_timed_psb(&trace, 64, 1000);
	put_psb(&trace, 128);
	put_psb(&trace, 160);
	check_begin(&trace, 1000, 0, 1000);
	check_begin(&trace, 1001, 128, 0);
	put_timed_psb(&trace, 192, 2000);
	check_begin(&trace, 1001, 128, 2000);
	check_begin(&trace, 2001, 192, 2000);
}

TEST(begins_at_the_first_new_point)
{
	struct trace trace = { .len = SIZE };

	put_timed_psb(&trace, 10, 1000);
	put_timed_psb(&trace, 100, 2000);
	put_timed_psb(&trace, 190, 3000);
	put_timed_psb(&trace, 280, 4000);
	check_begin(&trace, 0, 10, 1000);
	check_begin(&trace, 999, 10, 1000);
	check_begin(&trace, 1000, 10, 1000);
	check_begin(&trace, 1001, 100, 2000);
	check_begin(&trace, 2000, 100, 2000);
	check_begin(&trace, 2001, 190, 3000);
	check_begin(&trace, 3999, 280, 4000);
	check_begin(&trace, 4000, 280, 4000);
}

TEST(begins_at_the_last_point_when_all_are_old)
{
	struct trace trace = { .len = SIZE };

	put_timed_psb(&trace, 10, 1000);
	put_timed_psb(&trace, 100, 2000);
	put_timed_psb(&trace, 190, 3000);
	check_begin(&trace, 3001, 190, 3000);
	check_begin(&trace, 0xab00000000010000, 190, 3000);
}

/* The rest of an older trace, cut in a packet, precedes the new one; zeros are unwritten memory. */
TEST(leaves_out_stale_bytes)
{
	struct trace trace = { .len = SIZE };

	memset(trace.bytes, 0x82, 200);
	put_timed_psb(&trace, 48, 500);
	put_timed_psb(&trace, 121, 600);
	put_timed_psb(&trace, 400, 5000);
	check_begin(&trace, 4000, 400, 5000);
	check_begin(&trace, 550, 121, 600);
}

/* A trace has 56 bits of the TSC, the caller 64. */
TEST(compares_the_bits_of_a_trace)
{
	struct trace trace = { .len = SIZE };

	put_timed_psb(&trace, 0, 0xfffffffffffffe);
	put_timed_psb(&trace, 50, 0xffffffffffffff);
	check_begin(&trace, 0xabffffffffffffff, 50, 0xffffffffffffff);
	check_begin(&trace, 0xabfffffffffffffe, 0, 0xfffffffffffffe);
	/* The 56 bits have wrapped meanwhile. */
	check_begin(&trace, 0xac00000000000000, 50, 0xffffffffffffff);
}

TEST(takes_a_point_at_the_very_end)
{
	struct trace trace = { .len = SIZE };

	put_timed_psb(&trace, 100, 1000);
	put_timed_psb(&trace, SIZE - TIMED_PSB_LEN, 2000);
	check_point(&trace, 101, SIZE - TIMED_PSB_LEN, 2000);
	check_begin(&trace, 1500, SIZE - TIMED_PSB_LEN, 2000);
}

/* A trace cut anywhere: in PSB+ the time is unknown, in a PSB there is no point. Each is in
 * separate memory, so that a sanitizer sees reads past the end. */
TEST(takes_truncated_points)
{
	struct trace whole = { .len = SIZE };

	put_timed_psb(&whole, 0, 0x01020304050607);
	for (size_t len = 0; len <= TIMED_PSB_LEN; len++) {
		_cleanup_free_ uint8_t *bytes = malloc(len ?: 1);
		struct pt_psb psb = {};

		assert_non_null(bytes);
		memcpy(bytes, whole.bytes, len);
		assert_int_equal(pt_scan_psb(bytes, len, 0, &psb), len >= PSB_LEN);
		assert_int_equal(psb.tsc, len == TIMED_PSB_LEN ? 0x01020304050607 : 0);
		assert_int_equal(pt_scan_begin(bytes, len, 1), len < PSB_LEN ? len : 0);
		assert_int_equal(pt_scan_tsc(bytes, len, 0), psb.tsc);
	}
}

/* -- The cut of a trace made packet by packet */

static void put(struct trace *trace, const void *bytes, size_t len)
{
	assert_true(trace->len + len <= SIZE);
	memcpy(trace->bytes + trace->len, bytes, len);
	trace->len += len;
}

/* A string of bytes without its NUL. */
#define PUT(trace, bytes) put((trace), (bytes), sizeof(bytes) - 1)

#define TNT "\x06"
#define TIP "\x2d\x34\x12"
#define FUP "\x3d\x34\x12"
#define TIP_PGD "\x01"
#define OVF "\x02\xf3"
#define UNKNOWN "\x02\xff"

static void put_tsc(struct trace *trace, uint64_t tsc)
{
	put(trace, "\x19", 1);
	put(trace, &tsc, TSC_LEN - 1);
}

static void put_cbr(struct trace *trace, uint8_t ratio)
{
	put(trace, (uint8_t[]){ 0x02, 0x03, ratio, 0 }, 4);
}

/* A synchronisation point with TSC and core:bus ratio. */
static void put_sync(struct trace *trace, uint64_t tsc, uint8_t ratio)
{
	put_psb(trace, trace->len);
	trace->len += PSB_LEN;
	put_tsc(trace, tsc);
	put_cbr(trace, ratio);
	PUT(trace, PSBEND);
}

/* Less than 32 cycles. */
static void put_cyc(struct trace *trace, uint8_t cycles)
{
	put(trace, (uint8_t[]){ cycles << 3 | 3 }, 1);
}

static const struct pt_clock clock_of_tests = { 20, 250, 2, 3 };

static void check_cut_by(const struct pt_clock *clock, const struct trace *trace, uint64_t tsc,
			 size_t offset, bool exact)
{
	/* Separate memory, so that a sanitizer sees reads past the end. */
	_cleanup_free_ uint8_t *bytes = malloc(trace->len ?: 1);
	struct pt_cut cut = {};

	assert_non_null(bytes);
	memcpy(bytes, trace->bytes, trace->len);
	assert_true(pt_scan_cut(bytes, trace->len, tsc, clock, &cut));
	assert_int_equal(cut.offset, offset);
	assert_int_equal(cut.exact, exact);
}

static void check_cut(const struct trace *trace, uint64_t tsc, size_t offset, bool exact)
{
	check_cut_by(&clock_of_tests, trace, tsc, offset, exact);
}

TEST(cuts_by_tsc_alone)
{
	struct trace trace = {};
	size_t begin;

	put_sync(&trace, 1000, 20);
	PUT(&trace, TIP);
	begin = trace.len;
	PUT(&trace, TNT TNT TIP);
	put_sync(&trace, 2000, 20);
	/* The times of the branches after the first are unknown. */
	check_cut(&trace, 1000, begin, false);
	check_cut(&trace, 1999, begin, false);
	check_cut(&trace, 2000, trace.len, true);
	PUT(&trace, TIP TIP);
	check_cut(&trace, 2000, trace.len - 3, false);
	/* All bytes are later. */
	check_cut(&trace, 999, 0, false);
}

TEST(cuts_between_cycles)
{
	struct trace trace = {};
	size_t cuts[3];

	/* Each cycle of the core is two of the TSC. */
	put_sync(&trace, 1000, 10);
	cuts[0] = trace.len;
	put_cyc(&trace, 5);
	PUT(&trace, TNT);
	cuts[1] = trace.len;
	put_cyc(&trace, 31);
	PUT(&trace, FUP TIP);
	cuts[2] = trace.len;
	/* 1 + (1 << 5) + (1 << 12) cycles */
	PUT(&trace, "\x0f\x03\x02" TIP_PGD);
	check_cut(&trace, 1000, cuts[0], true);
	check_cut(&trace, 1009, cuts[0], true);
	check_cut(&trace, 1010, cuts[1], true);
	check_cut(&trace, 1071, cuts[1], true);
	check_cut(&trace, 1072, cuts[2], true);
	check_cut(&trace, 1072 + 2 * (1 + 32 + 4096) - 1, cuts[2], true);
	check_cut(&trace, 1072 + 2 * (1 + 32 + 4096), trace.len, true);
	/* Without the processor's ratio cycles are useless. */
	check_cut_by(&(struct pt_clock){}, &trace, 1072, cuts[0], false);
}

/* A ratio applies to later cycles. */
TEST(follows_the_ratio)
{
	struct trace trace = {};
	size_t cut;

	put_sync(&trace, 1000, 10);
	put_cyc(&trace, 10);
	PUT(&trace, TNT);
	put_cbr(&trace, 40);
	cut = trace.len;
	put_cyc(&trace, 10);
	PUT(&trace, TNT);
	check_cut(&trace, 1024, cut - 4, false);
	check_cut(&trace, 1025, trace.len, true);
}

/* Two branches without cycles in between may differ in time. */
TEST(does_not_trust_what_has_no_cycles)
{
	struct trace trace = {};
	size_t cut;

	put_sync(&trace, 1000, 20);
	put_cyc(&trace, 10);
	PUT(&trace, TNT);
	cut = trace.len;
	PUT(&trace, TNT TIP);
	put_cyc(&trace, 10);
	PUT(&trace, TNT);
	check_cut(&trace, 1019, cut, false);
	check_cut(&trace, 1020, trace.len, true);
}

/* 125 ticks of TSC for each of CTC; an MTC packet each 8 of CTC. */
TEST(cuts_by_mtc)
{
	struct trace trace = {};
	size_t cuts[4];

	put_sync(&trace, 100000, 20);
	/* CTC became 0x7fb 7 ticks of TSC ago. */
	PUT(&trace, "\x02\x73\xfb\x07\x00\x07\x00");
	PUT(&trace, TNT);
	cuts[0] = trace.len;
	PUT(&trace, TNT);
	PUT(&trace, "\x59\x00");
	cuts[1] = trace.len;
	PUT(&trace, TNT TNT);
	/* Two are missing. */
	PUT(&trace, "\x59\x03");
	cuts[2] = trace.len;
	PUT(&trace, "\x59\x04");
	cuts[3] = trace.len;
	check_cut(&trace, 99993 + 5 * 125 - 1, cuts[0], false);
	check_cut(&trace, 99993 + 5 * 125, cuts[1], false);
	check_cut(&trace, 99993 + 29 * 125 - 1, cuts[1], false);
	check_cut(&trace, 99993 + 29 * 125, cuts[2], true);
	check_cut(&trace, 99993 + 37 * 125, cuts[3], true);
	/* Unknown ratio of CTC */
	check_cut_by(&(struct pt_clock){ .max_nonturbo_ratio = 20 }, &trace, 99993 + 29 * 125,
		     cuts[0], false);
}

/* An MTC packet may have bits of CTC that the previous TMA packet lacks. */
TEST(cuts_by_mtc_of_a_long_period)
{
	static const struct pt_clock clock = { 20, 1, 1, 12 };
	struct trace trace = {};
	size_t cut;

	put_sync(&trace, 1000000, 20);
	PUT(&trace, "\x02\x73\x00\xe0\x00\x00\x00");
	PUT(&trace, "\x59\x5f");
	cut = trace.len;
	PUT(&trace, "\x59\x60\x59\x80");
	check_cut_by(&clock, &trace, 1000000 + 0x1000, cut, true);
	check_cut_by(&clock, &trace, 1000000 + 0x2000, cut + 2, true);
	check_cut_by(&clock, &trace, 1000000 + 0x21fff, cut + 2, true);
	check_cut_by(&clock, &trace, 1000000 + 0x22000, cut + 4, true);
}

/* A cut packet is not read and has no known time. */
TEST(cuts_truncated_traces)
{
	struct trace trace = {};
	size_t begin;

	put_sync(&trace, 1000, 20);
	begin = trace.len;
	PUT(&trace, "\xdd\x19\x19\x19\x19\x19\x19\x19\x19");
	check_cut(&trace, 1000, trace.len, true);
	for (trace.len--; trace.len > begin; trace.len--)
		check_cut(&trace, 1000, begin, false);
	check_cut(&trace, 1000, begin, true);
	PUT(&trace, "\x07");
	check_cut(&trace, 1000, begin, false);
	/* More than 64 bits */
	PUT(&trace, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00");
	check_cut(&trace, 1000, begin, false);
}

TEST(goes_on_at_the_next_point)
{
	struct trace trace = {};
	size_t garbage, again;

	put_sync(&trace, 1000, 20);
	garbage = trace.len;
	PUT(&trace, UNKNOWN);
	put_cyc(&trace, 31);
	put_tsc(&trace, 9000);
	again = trace.len;
	put_sync(&trace, 2000, 20);
	put_cyc(&trace, 31);
	PUT(&trace, TNT);
	check_cut(&trace, 1999, garbage, false);
	check_cut(&trace, 2000, trace.len - 2, true);
	check_cut(&trace, 2031, trace.len, true);
	/* A point without a time is skipped. */
	trace.bytes[again + PSB_LEN] = 0x99;
	trace.bytes[again + PSB_LEN + 1] = 0x01;
	memset(trace.bytes + again + PSB_LEN + 2, 0, TSC_LEN - 2);
	check_cut(&trace, 1000 + 30, garbage, false);
}

TEST(does_not_trust_what_is_lost)
{
	struct trace trace = {};
	size_t cut;

	put_sync(&trace, 1000, 20);
	cut = trace.len;
	PUT(&trace, OVF FUP);
	put_tsc(&trace, 3000);
	check_cut(&trace, 2999, cut, false);
	check_cut(&trace, 3000, trace.len, true);
}

TEST(cuts_by_56_bits)
{
	struct trace trace = {};
	size_t cut;

	put_sync(&trace, 0xfffffffffffff0, 20);
	cut = trace.len;
	put_cyc(&trace, 31);
	PUT(&trace, TNT);
	check_cut(&trace, 0xabfffffffffffff0, cut, true);
	check_cut(&trace, 0xac0000000000000e, cut, true);
	check_cut(&trace, 0xac0000000000000f, trace.len, true);
}

TEST(cuts_nothing_without_time)
{
	struct trace trace = { .len = SIZE };
	struct pt_cut cut;

	assert_false(pt_scan_cut(trace.bytes, 0, 1, &clock_of_tests, &cut));
	assert_false(pt_scan_cut(trace.bytes, SIZE, 1, &clock_of_tests, &cut));
	put_psb(&trace, 8);
	assert_false(pt_scan_cut(trace.bytes, SIZE, 1, &clock_of_tests, &cut));
	/* It begins at the first later point with a time, also after one without. */
	put_timed_psb(&trace, 100, 7);
	check_cut(&trace, 6, 100, false);
}

/* Xorshift: the same bytes each time. */
static uint64_t random_next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	return *seed ^= *seed << 17;
}

/* Random bytes; synchronisation points make the scan walk them. */
TEST(survives_any_bytes)
{
	uint64_t seed = 20261121;

	for (int round = 0; round < 50000; round++) {
		size_t len = random_next(&seed) % SIZE;
		_cleanup_free_ uint8_t *bytes = malloc(len ?: 1);
		struct pt_clock clock = { random_next(&seed) % 3 * random_next(&seed),
					  random_next(&seed) % 3 * random_next(&seed),
					  random_next(&seed) % 3 * random_next(&seed),
					  random_next(&seed) % 20 };
		struct trace trace = {};
		struct pt_cut cut;

		assert_non_null(bytes);
		for (size_t i = 0; i < SIZE; i++)
			trace.bytes[i] = random_next(&seed) >> 32;
		/* More long packets and packets with a second byte */
		for (size_t i = 0; i < SIZE; i += 1 + random_next(&seed) % 8)
			trace.bytes[i] = round % 2 ? 0x02 : trace.bytes[i] | 0x07;
		for (size_t at = round % 7; at + 100 < SIZE; at += 100 + random_next(&seed) % 100)
			put_timed_psb(&trace, at, round % 5 ? 1 + at : random_next(&seed));
		memcpy(bytes, trace.bytes, len);
		if (pt_scan_cut(bytes, len, random_next(&seed) % (2 * SIZE), &clock, &cut))
			assert_in_range(cut.offset, 0, len);
	}
}
