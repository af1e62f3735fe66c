// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* PSB+ in the orders that real CPUs wrote, byte by byte, and in other legal orders. */
#include "pt_scan.h"

#include <string.h>

#include "test.h"
#include "util.h"

#define PSB "\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82"
#define PAD2 "\0\0"
#define PAD3 PAD2 "\0"
#define PAD4 PAD2 PAD2
#define PAD8 PAD4 PAD4
#define PSBEND "\x02\x23"
#define MODE "\x99\x20\x99\x01"
#define FUP "\x7d\x7e\xa2\x51\x00\x00\x00"
#define PIP "\x02\x43\x00\x34\xd4\x3f\x00\x00"
#define VMCS "\x02\xc8\x01\x02\x03\x04\x05"
#define CBR "\x02\x03\x0c\x00"
#define TMA "\x02\x73\x3c\xb2\x00\x30\x00"
#define OVF "\x02\xf3"
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
};

TEST(finds_the_time)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pt_psb psb = {};

		assert_int_equal(pt_scan_psb((const uint8_t *)rows[i].bytes, rows[i].len, 0, &psb),
				 1);
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
			assert_int_equal(pt_scan_psb(bytes, len, 0, &psb), 1);
			assert_int_equal(psb.tsc, 0);
		}
	}
}

TEST(what_is_cut_off_has_no_time)
{
	static const struct row cut[] = {
		ROW(PSB MODE OVF "\x19\x01\0\0\0\0\0\0" PSBEND, 0),
		ROW(PSB "\x19\x01\0\0\0\0\0\0" OVF FUP, 0),
		ROW(PSB "\x19\x01\0\0\0\0\0\0" TNT PSBEND, 0),
		ROW(PSB CBR "\x02\xff"
			    "\x19\x01\0\0\0\0\0\0" PSBEND,
		    0),
		ROW(PSB CBR PSB "\x19\x01\0\0\0\0\0\0" PSBEND, 0),
	};

	for (size_t i = 0; i < ARRAY_SIZE(cut); i++) {
		struct pt_psb psb = { .tsc = 1 };

		assert_int_equal(pt_scan_psb((const uint8_t *)cut[i].bytes, cut[i].len, 0, &psb),
				 1);
		assert_int_equal(psb.offset, 0);
		assert_int_equal(psb.tsc, 0);
	}
}

struct trace {
	uint8_t bytes[1024];
	size_t len;
};

static size_t put(struct trace *trace, const void *bytes, size_t len)
{
	size_t at = trace->len;

	assert_true(at + len <= sizeof(trace->bytes));
	memcpy(trace->bytes + at, bytes, len);
	trace->len += len;
	return at;
}

#define PUT(trace, bytes) put((trace), (bytes), sizeof(bytes) - 1)

/* A ring's content: the rest of a segment, then whole ones; more than the last point. */
TEST(begins_at_the_first_new_point)
{
	struct trace trace = {};
	size_t points[3];

	PUT(&trace, "\x34\x12" TNT TNT PAD3);
	points[0] = PUT(&trace, SKYLAKE_BEGIN TNT TNT);
	points[1] = PUT(&trace, SKYLAKE_WITHIN TNT PAD3);
	points[2] = PUT(&trace, UNTIMED TNT);
	PUT(&trace, PSB MODE OVF FUP TNT);
	assert_int_equal(pt_scan_begin(trace.bytes, trace.len, 0x1d8cf5ca1e012c), points[0]);
	assert_int_equal(pt_scan_tsc(trace.bytes, trace.len, points[0]), 0x1d8cf5ca1e012c);
	assert_int_equal(pt_scan_begin(trace.bytes, trace.len, 0x1d8cf5ca1e012d), points[1]);
	/* The rest is not known to be old. */
	assert_int_equal(pt_scan_begin(trace.bytes, trace.len, 0x1d8cf5ca38942f), points[2]);
	assert_int_equal(pt_scan_tsc(trace.bytes, trace.len, points[2]), 0);
}

static void check_cut(const struct trace *trace, uint64_t tsc, size_t offset, bool exact)
{
	static const struct pt_clock clock = { 37, 308, 2, 3 };
	struct pt_cut cut = {};

	assert_true(pt_scan_cut(trace->bytes, trace->len, tsc, &clock, &cut));
	assert_int_equal(cut.offset, offset);
	assert_int_equal(cut.exact, exact);
}

/* Core at 12, TSC at 37: a cycle is about 3 ticks. PAD takes no time. */
TEST(cuts_where_psb_plus_tells_time)
{
	struct trace trace = {};
	size_t within, after;

	PUT(&trace, SKYLAKE_BEGIN);
	PUT(&trace, "\x53" TNT PAD3); /* 10 cycles: 30 of the TSC */
	within = PUT(&trace, SKYLAKE_WITHIN);
	PUT(&trace, "\x53" TNT);
	after = PUT(&trace, "\x53" TNT);
	check_cut(&trace, 0x1d8cf5ca1e012c + 29, within - 5, true);
	/* Cycles counted before TSC do not advance it. */
	check_cut(&trace, 0x1d8cf5ca1e012c + 30, within - 3, true);
	check_cut(&trace, 0x1d8cf5ca38942d, within - 3, true);
	check_cut(&trace, 0x1d8cf5ca38942e, after - 2, true);
	check_cut(&trace, 0x1d8cf5ca38942e + 29, after - 2, true);
	check_cut(&trace, 0x1d8cf5ca38942e + 30, after, true);
	check_cut(&trace, 0x1d8cf5ca38942e + 60, after, true);
	check_cut(&trace, 0x1d8cf5ca38942e + 61, trace.len, true);
}

/* Cycles counted before the first time are not added to it. */
TEST(leaves_out_cycles_of_before)
{
	struct trace trace = {};

	PUT(&trace, SKYLAKE_WITHIN);
	PUT(&trace, "\x0b" TNT);
	check_cut(&trace, 0x1d8cf5ca38942e, trace.len - 2, true);
	check_cut(&trace, 0x1d8cf5ca38942e + 3, trace.len, true);
	check_cut(&trace, 0x1d8cf5ca38942d, 0, false);
}
