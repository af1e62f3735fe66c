/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Looks for a word in a text, and for a latency: the last number that " us" or " >" follows, as in
 * the marks of rt-tests, in microseconds. One pass, and nothing in it depends on a comparison: each
 * branch would double the paths that the verifier has to follow. The tables are user space's to
 * make. */
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
	MARKER_UNIT = 1 << 3, /* the first character of what follows a latency and a space */
};

struct marker_scan {
	__u64 state; /* characters of the word that are matched */
	__u64 latency_ns;
	/* The number that is being read, and one that a space has ended; the flags are 0 or 1. */
	__u64 number_ns, ended_ns;
	__u64 in_number, in_fraction, has_ended;
	__u64 digit_ns; /* what the next digit of the fraction is worth */
};

static inline __attribute__((always_inline)) __u64 marker_bit(__u64 class, __u64 bit)
{
	return (class & bit) / bit;
}

static inline __attribute__((always_inline)) void marker_step(struct marker_scan *scan,
							      const volatile __u8 *classes,
							      const volatile __u8 *next,
							      __u8 character)
{
	__u64 class = classes[character];
	__u64 digit = marker_bit(class, MARKER_DIGIT), dot = marker_bit(class, MARKER_DOT);
	__u64 in_fraction = digit * scan->in_fraction;
	__u64 whole = digit * (1 - scan->in_fraction);
	__u64 is_latency = marker_bit(class, MARKER_UNIT) * scan->has_ended;
	__u64 index;

	scan->latency_ns += is_latency * (scan->ended_ns - scan->latency_ns);
	scan->has_ended = marker_bit(class, MARKER_SPACE) * scan->in_number;
	scan->ended_ns = scan->number_ns;
	scan->number_ns = (digit + dot) * scan->number_ns * (1 + 9 * whole) +
			  digit * (character - '0') * (whole * 1000 + in_fraction * scan->digit_ns);
	scan->in_number = digit + dot * scan->in_number;
	scan->in_fraction = dot + in_fraction;
	scan->digit_ns = dot * 100 + in_fraction * scan->digit_ns / 10;
	index = scan->state * MARKER_CHARACTERS + character;
	/* So that what bounds it comes last: the verifier of Linux 6.1 loses bounds on the way. */
	__asm__ volatile("" : "+r"(index));
	scan->state = next[index & (MARKER_STATES * MARKER_CHARACTERS - 1)];
}

#endif
