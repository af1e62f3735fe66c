// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* On synthetic traces: synchronisation points like the processor's, with zeros (PAD) or other bytes
 * in between. */
#include "pt_packets.h"

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

	assert_int_equal(pt_psb_find_timed(trace->bytes, trace->len, from, &psb), 1);
	assert_int_equal(psb.offset, offset);
	assert_int_equal(psb.tsc, tsc);
}

static void check_no_point(const struct trace *trace, size_t from)
{
	struct pt_psb psb = { 11, 12 };

	assert_int_equal(pt_psb_find_timed(trace->bytes, trace->len, from, &psb), 0);
	assert_int_equal(psb.offset, 11);
	assert_int_equal(psb.tsc, 12);
}

static void check_begin(const struct trace *trace, uint64_t since, size_t begin, uint64_t tsc)
{
	assert_int_equal(pt_psb_find_begin(trace->bytes, trace->len, since), begin);
	assert_int_equal(pt_psb_first_tsc(trace->bytes, trace->len, begin), tsc);
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
		assert_int_equal(pt_psb_find_timed(bytes, len, 0, &psb), len >= PSB_LEN);
		assert_int_equal(psb.tsc, len == TIMED_PSB_LEN ? 0x01020304050607 : 0);
		assert_int_equal(pt_psb_find_begin(bytes, len, 1), len < PSB_LEN ? len : 0);
		assert_int_equal(pt_psb_first_tsc(bytes, len, 0), psb.tsc);
	}
}

/* -- PSB+ in the orders that real CPUs wrote, byte by byte, and in other legal orders */

#define PSB "\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82"
#define PAD2 "\0\0"
#define PAD3 PAD2 "\0"
#define PAD4 PAD2 PAD2
#define PAD8 PAD4 PAD4
#define MODE "\x99\x20\x99\x01"
#define FUP "\x7d\x7e\xa2\x51\x00\x00\x00"
#define PIP "\x02\x43\x00\x34\xd4\x3f\x00\x00"
#define VMCS "\x02\xc8\x01\x02\x03\x04\x05"
#define CBR "\x02\x03\x0c\x00"
#define TMA "\x02\x73\x3c\xb2\x00\x30\x00"
#define OVF "\x02\xf3"
#define UNKNOWN "\x02\xff"
#define TNT "\x06"

/* user: a trace that begins, with CYC */
#define SKYLAKE_BEGIN                                                                              \
	PSB PAD4 "\xef\x08"                                                                        \
		 "\x19\x2c\x01\x1e\xca\xf5\x8c\x1d" PAD8 "\x02\x73\x9a\x1a\x00\x88\x00" PAD3       \
		 "\0" CBR PSBEND
/* user: within a trace; CYC of the time before, and MTC */
#define SKYLAKE_WITHIN                                                                             \
	PSB PAD2 "\x87\x14" MODE FUP PAD4 "\x8f\x02\x59\xd9\x07\x02"                               \
		 "\x19\x2e\x94\x38\xca\xf5\x8c\x1d" PAD8 "\x02\x73\xc7\x46\x00\x78\x00" PAD3       \
		 "\0" CBR PSBEND
/* user: CYC and MTC behind TSC */
#define SKYLAKE_MTC                                                                                \
	PSB PAD4 "\x07\x0a"                                                                        \
		 "\x19\xf8\x03\xdc\xfe\xc2\x24\x09" PAD8 "\x02\x73\xce\xd4\x00\x0c\x00" PAD3       \
		 "\0" CBR "\xaf\x02\x59\x9a" PSBEND
/* kernel, without CYC */
#define SKYLAKE_KERNEL                                                                             \
	PSB PAD3 MODE "\x7d\x00\xd3\x60\xb9\xff\xff" PAD8 "\0" PIP PAD8 PAD2                       \
		      "\x19\xe8\xcf\xd2\x4c\xbc\x00\x00" PAD8 PAD2 TMA PAD4 CBR PSBEND
#define BROADWELL PSB "\x19\x10\x32\x54\x76\x98\xba\x1c" CBR MODE FUP PSBEND
#define UNTIMED PSB MODE FUP CBR PSBEND

#define ROW(bytes, tsc)                                                                            \
	{                                                                                          \
		(bytes), sizeof(bytes) - 1, (tsc)                                                  \
	}

static const struct row {
	const char *bytes;
	size_t len;
	uint64_t tsc;
} rows[] = {
	ROW(SKYLAKE_BEGIN, 0x1d8cf5ca1e012c),
	ROW(SKYLAKE_WITHIN, 0x1d8cf5ca38942e),
	ROW(SKYLAKE_MTC, 0x0924c2fedc03f8),
	ROW(SKYLAKE_KERNEL, 0x0000bc4cd2cfe8),
	ROW(BROADWELL, 0x1cba9876543210),
	ROW(PSB "\x19\x01\0\0\0\0\0\0" PSBEND, 1),
	ROW(PSB PIP VMCS CBR "\x02\xc3\x88zzzzzzzz" MODE "\x19\x02\0\0\0\0\0\0" FUP PSBEND, 2),
	ROW(UNTIMED, 0),
	ROW(PSB PSBEND, 0),
	/* cut off */
	ROW(PSB MODE OVF "\x19\x01\0\0\0\0\0\0" PSBEND, 0),
	ROW(PSB "\x19\x01\0\0\0\0\0\0" OVF FUP, 0),
	ROW(PSB "\x19\x01\0\0\0\0\0\0" TNT PSBEND, 0),
	ROW(PSB CBR UNKNOWN "\x19\x01\0\0\0\0\0\0" PSBEND, 0),
	ROW(PSB CBR PSB "\x19\x01\0\0\0\0\0\0" PSBEND, 0),
};

TEST(finds_the_time)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pt_psb psb = { .tsc = 1 };

		assert_int_equal(
			pt_psb_find_timed((const uint8_t *)rows[i].bytes, rows[i].len, 0, &psb), 1);
		assert_int_equal(psb.offset, 0);
		assert_int_equal(psb.tsc, rows[i].tsc);
	}
}

/* Each piece in separate memory, so that a sanitizer sees reads past the end. */
TEST(needs_the_whole)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (size_t len = 16; len < rows[i].len; len++) {
			_cleanup_free_ uint8_t *bytes = malloc(len);
			struct pt_psb psb = { .tsc = 1 };

			assert_non_null(bytes);
			memcpy(bytes, rows[i].bytes, len);
			assert_int_equal(pt_psb_find_timed(bytes, len, 0, &psb), 1);
			assert_int_equal(psb.tsc, 0);
		}
	}
}

static size_t put(struct trace *trace, const void *bytes, size_t len)
{
	size_t at = trace->len;

	assert_true(at + len <= SIZE);
	memcpy(trace->bytes + at, bytes, len);
	trace->len += len;
	return at;
}

#define PUT(trace, bytes) put((trace), (bytes), sizeof(bytes) - 1)

/* A ring's content: the rest of a segment, then whole ones; more than the last point. */
TEST(begins_at_the_first_new_point_of_a_ring)
{
	struct trace trace = {};
	size_t points[3];

	PUT(&trace, "\x34\x12" TNT TNT PAD3);
	points[0] = PUT(&trace, SKYLAKE_BEGIN TNT TNT);
	points[1] = PUT(&trace, SKYLAKE_WITHIN TNT PAD3);
	points[2] = PUT(&trace, UNTIMED TNT);
	PUT(&trace, PSB MODE OVF FUP TNT);
	assert_int_equal(pt_psb_find_begin(trace.bytes, trace.len, 0x1d8cf5ca1e012c), points[0]);
	assert_int_equal(pt_psb_first_tsc(trace.bytes, trace.len, points[0]), 0x1d8cf5ca1e012c);
	assert_int_equal(pt_psb_find_begin(trace.bytes, trace.len, 0x1d8cf5ca1e012d), points[1]);
	/* The rest is not known to be old. */
	assert_int_equal(pt_psb_find_begin(trace.bytes, trace.len, 0x1d8cf5ca38942f), points[2]);
	assert_int_equal(pt_psb_first_tsc(trace.bytes, trace.len, points[2]), 0);
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
		struct trace trace = {};
		size_t begin;

		assert_non_null(bytes);
		for (size_t i = 0; i < SIZE; i++)
			trace.bytes[i] = random_next(&seed) >> 32;
		/* More long packets and packets with a second byte */
		for (size_t i = 0; i < SIZE; i += 1 + random_next(&seed) % 8)
			trace.bytes[i] = round % 2 ? 0x02 : trace.bytes[i] | 0x07;
		for (size_t at = round % 7; at + 100 < SIZE; at += 100 + random_next(&seed) % 100)
			put_timed_psb(&trace, at, round % 5 ? 1 + at : random_next(&seed));
		memcpy(bytes, trace.bytes, len);
		begin = pt_psb_find_begin(bytes, len, random_next(&seed) % (2 * SIZE));
		assert_in_range(begin, 0, len);
		pt_psb_first_tsc(bytes, len, begin);
	}
}
