/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Searches a text for a word and a latency: the last number before " us" or " >", in microseconds,
 * as in the marks of rt-tests. It is one pass without branches on comparisons: each branch would
 * double the paths for the verifier. User space builds the tables. */
#ifndef MARKER_TEXT_H
#define MARKER_TEXT_H

#include <linux/types.h>

#define MARKER_WORD_MAX 31
#define MARKER_STATES (MARKER_WORD_MAX + 1)
#define MARKER_CHARACTERS 256

enum marker_class {
	MARKER_DIGIT = 1 << 0,
	MARKER_DOT = 1 << 1,
	MARKER_SPACE = 1 << 2,
	MARKER_UNIT = 1 << 3, /* the first character after a latency and a space */
};

struct marker_scan {
	__u64 state; /* characters of the word that match so far */
	__u64 latency_ns;
	/* The number being read, and the last one that a space ended; flags are 0 or 1. */
	__u64 number_ns, ended_ns;
	__u64 in_number, in_fraction, has_ended;
	__u64 digit_ns; /* value of the fraction's next digit */
};

static inline __attribute__((always_inline)) __u64 marker_class_bit(__u64 class, __u64 bit)
{
	return (class & bit) / bit;
}

static inline __attribute__((always_inline)) void marker_scan_step(struct marker_scan *scan,
								   const volatile __u8 *classes,
								   const volatile __u8 *next,
								   __u8 character)
{
	__u64 class = classes[character];
	__u64 digit = marker_class_bit(class, MARKER_DIGIT),
	      dot = marker_class_bit(class, MARKER_DOT);
	__u64 in_fraction = digit * scan->in_fraction;
	__u64 whole = digit * (1 - scan->in_fraction);
	__u64 is_latency = marker_class_bit(class, MARKER_UNIT) * scan->has_ended;
	__u64 index;

	scan->latency_ns += is_latency * (scan->ended_ns - scan->latency_ns);
	scan->has_ended = marker_class_bit(class, MARKER_SPACE) * scan->in_number;
	scan->ended_ns = scan->number_ns;
	scan->number_ns = (digit + dot) * scan->number_ns * (1 + 9 * whole) +
			  digit * (character - '0') * (whole * 1000 + in_fraction * scan->digit_ns);
	scan->in_number = digit + dot * scan->in_number;
	scan->in_fraction = dot + in_fraction;
	scan->digit_ns = dot * 100 + in_fraction * scan->digit_ns / 10;
	index = scan->state * MARKER_CHARACTERS + character;
	/* Puts the bounds check last: the verifier of Linux 6.1 forgets earlier bounds. */
	__asm__ volatile("" : "+r"(index));
	scan->state = next[index & (MARKER_STATES * MARKER_CHARACTERS - 1)];
}

#endif
