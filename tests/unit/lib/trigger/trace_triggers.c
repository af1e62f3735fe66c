// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The program's search in a text; rt-tests' texts are the original ones. */
#include "trigger/trigger_internal.h"

#include <string.h>

#include "test.h"

/* Like the BPF program. Returns whether the word occurs. */
static bool scan(const char *word, const char *text, __u64 *latency_ns)
{
	static __u8 classes[MARKER_CHARACTERS], next[MARKER_STATES * MARKER_CHARACTERS];
	struct marker_scan scan = {};

	memset(next, 0, sizeof(next));
	marker_make_tables(classes, next, word);
	for (size_t i = 0; i < 128; i++)
		marker_scan_step(&scan, classes, next, i < strlen(text) ? (__u8)text[i] : 0);
	*latency_ns = scan.latency_ns;
	return scan.state == strlen(word);
}

static void spell(char *text, size_t length, unsigned int number)
{
	for (size_t i = 0; i < length; i++)
		text[i] = "ab"[number >> i & 1];
	text[length] = '\0';
}

TEST(finds_words)
{
	char word[8], text[12];
	__u64 latency_ns;

	/* A naive search misses words that overlap themselves. */
	for (size_t length = 1; length <= 4; length++) {
		for (unsigned int w = 0; w < 1U << length; w++) {
			spell(word, length, w);
			for (unsigned int t = 0; t < 1U << 8; t++) {
				spell(text, 8, t);
				assert_int_equal(scan(word, text, &latency_ns),
						 !!strstr(text, word));
			}
		}
	}
	assert_true(scan("0123456789012345678901234567890", "x0123456789012345678901234567890",
			 &latency_ns));
	assert_false(scan("0123456789012345678901234567890", "x012345678901234567890123456789",
			  &latency_ns));
	assert_true(scan("\xff\x80", "a\xff\xff\x80", &latency_ns));
}

TEST(reads_latencies)
{
	static const struct {
		const char *text;
		__u64 latency_ns;
	} rows[] = {
		{ "hit latency threshold (72 > 30)", 72000 },
		{ "oslat: Trace threshold (10 us) triggered on cpu 3 with 12 us!\n", 12000 },
		{ "oslat: Trace threshold (10 us) triggered on cpu 3 with 12.345 us!\n", 12345 },
		{ "took 0.5 us", 500 },
		{ "took 1234567.1239 us", 1234567123 },
		{ "4294967296 us", 4294967296000 },
		{ "on cpu 3 at 17:05", 0 },
		{ "7us", 0 },
		{ "1 2 > 3", 2000 },
		{ "x 5 us, of 3 > 1 before", 3000 },
		{ ". us", 0 },
		{ "", 0 },
	};
	__u64 latency_ns;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		scan("x", rows[i].text, &latency_ns);
		assert_int_equal(latency_ns, rows[i].latency_ns);
	}
}
