/* SPDX-License-Identifier: GPL-2.0-only */
/* The few kernel types that the programs read, with only the fields they read. CO-RE finds the
 * fields in the running kernel's BTF, so nothing of the build machine's kernel is needed. */
#ifndef KERNEL_TYPES_H
#define KERNEL_TYPES_H

#include <linux/types.h>

typedef __s64 ktime_t;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct timerqueue_node {
	ktime_t expires;
};

struct hrtimer_clock_base {
	ktime_t offset; /* of this clock from CLOCK_MONOTONIC */
};

struct hrtimer {
	struct timerqueue_node node;
	void *function;
	struct hrtimer_clock_base *base;
};

#pragma clang attribute pop

#endif
