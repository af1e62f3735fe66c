// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* On synthetic traces: synchronisation points as the processor writes them, and zeros (PAD) or
 * other bytes between. */
#include "pt_scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "util.h"

#define PSB_LEN 16
#define TSC_LEN 8
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

/* TSC packet: its opcode, then seven bytes. */
static void put_timed_psb(struct trace *trace, size_t at, uint64_t tsc)
{
	put_psb(trace, at);
	trace->bytes[at + PSB_LEN] = 0x19;
	for (size_t i = 1; i < TSC_LEN; i++, tsc >>= 8)
		trace->bytes[at + PSB_LEN + i] = tsc;
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
	uint64_t begin_tsc = 99;

	assert_int_equal(pt_scan_begin(trace->bytes, trace->len, since, &begin_tsc), begin);
	assert_int_equal(begin_tsc, tsc);
}

static void finds_nothing_without_psb(void **state)
{
	struct trace trace = { .len = SIZE };

	(void)state;
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

static void finds_points(void **state)
{
	struct trace trace = { .len = SIZE };

	(void)state;
	put_timed_psb(&trace, 33, 0x77665544332211);
	put_timed_psb(&trace, 200, 0x77665544332299);
	check_point(&trace, 0, 33, 0x77665544332211);
	check_point(&trace, 33, 33, 0x77665544332211);
	check_point(&trace, 34, 200, 0x77665544332299);
	check_point(&trace, 200, 200, 0x77665544332299);
	check_no_point(&trace, 201);
	/* What is behind the trace is not its. */
	trace.len = 150;
	check_no_point(&trace, 150);
	check_no_point(&trace, 151);
	check_no_point(&trace, 34);
}

static void finds_points_without_time(void **state)
{
	struct trace trace = { .len = SIZE };

	(void)state;
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

/* A point of unknown age is not taken for a new one. */
static void passes_over_points_without_time(void **state)
{
	struct trace trace = { .len = SIZE };

	(void)state;
	put_psb(&trace, 0);
	put_timed_psb(&trace, 64, 1000);
	put_psb(&trace, 128);
	check_begin(&trace, 1000, 64, 1000);
	check_begin(&trace, 1001, 128, 0);
}

static void begins_at_the_first_new_point(void **state)
{
	struct trace trace = { .len = SIZE };

	(void)state;
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

static void begins_at_the_last_point_when_all_are_old(void **state)
{
	struct trace trace = { .len = SIZE };

	(void)state;
	put_timed_psb(&trace, 10, 1000);
	put_timed_psb(&trace, 100, 2000);
	put_timed_psb(&trace, 190, 3000);
	check_begin(&trace, 3001, 190, 3000);
	check_begin(&trace, 0xffffffffffffffff, 190, 3000);
}

/* The rest of an older trace, cut in a packet, is before what is new; zeros are where nothing was
 * written yet. */
static void leaves_out_stale_bytes(void **state)
{
	struct trace trace = { .len = SIZE };

	(void)state;
	memset(trace.bytes, 0x82, 200);
	put_timed_psb(&trace, 48, 500);
	put_timed_psb(&trace, 121, 600);
	put_timed_psb(&trace, 400, 5000);
	check_begin(&trace, 4000, 400, 5000);
	check_begin(&trace, 550, 121, 600);
}

/* 56 bits of the TSC are in a trace; who asks has 64. */
static void compares_the_bits_of_a_trace(void **state)
{
	struct trace trace = { .len = SIZE };

	(void)state;
	put_timed_psb(&trace, 0, 0xfffffffffffffe);
	put_timed_psb(&trace, 50, 0xffffffffffffff);
	check_begin(&trace, 0xabffffffffffffff, 50, 0xffffffffffffff);
	check_begin(&trace, 0xabfffffffffffffe, 0, 0xfffffffffffffe);
	check_begin(&trace, 0xab00000000000000, 0, 0xfffffffffffffe);
}

static void takes_a_point_at_the_very_end(void **state)
{
	struct trace trace = { .len = SIZE };

	(void)state;
	put_timed_psb(&trace, 100, 1000);
	put_timed_psb(&trace, SIZE - PSB_LEN - TSC_LEN, 2000);
	check_point(&trace, 101, SIZE - PSB_LEN - TSC_LEN, 2000);
	check_begin(&trace, 1500, SIZE - PSB_LEN - TSC_LEN, 2000);
}

/* Whatever the trace is cut at: in a TSC packet its time is not known, in a PSB there is none. Each
 * is in memory of its own, so that a sanitizer sees what is read past the end. */
static void takes_truncated_points(void **state)
{
	struct trace whole = { .len = SIZE };

	(void)state;
	put_timed_psb(&whole, 0, 0x01020304050607);
	for (size_t len = 0; len <= PSB_LEN + TSC_LEN; len++) {
		_cleanup_free_ uint8_t *bytes = malloc(len ?: 1);
		struct pt_psb psb = {};
		uint64_t tsc;

		assert_non_null(bytes);
		memcpy(bytes, whole.bytes, len);
		assert_int_equal(pt_scan_psb(bytes, len, 0, &psb), len >= PSB_LEN);
		assert_int_equal(psb.tsc, len == PSB_LEN + TSC_LEN ? 0x01020304050607 : 0);
		assert_int_equal(pt_scan_begin(bytes, len, 1, &tsc), len < PSB_LEN ? len : 0);
		assert_int_equal(tsc, psb.tsc);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_nothing_without_psb),
		cmocka_unit_test(finds_points),
		cmocka_unit_test(finds_points_without_time),
		cmocka_unit_test(passes_over_points_without_time),
		cmocka_unit_test(begins_at_the_first_new_point),
		cmocka_unit_test(begins_at_the_last_point_when_all_are_old),
		cmocka_unit_test(leaves_out_stale_bytes),
		cmocka_unit_test(compares_the_bits_of_a_trace),
		cmocka_unit_test(takes_a_point_at_the_very_end),
		cmocka_unit_test(takes_truncated_points),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
