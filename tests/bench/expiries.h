/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EXPIRIES_H
#define EXPIRIES_H

#include <linux/types.h>

#define EXPIRIES_CPUS 1024
#define EXPIRIES_NAMES 32
#define EXPIRIES_NAME_SIZE 16

struct expiries_cpu {
	__u64 count;
	__u64 late;   /* of them, late */
	__u64 untold; /* late, and dropped because the ring was full */
	__u64 named;  /* expiries while a task of one of the names ran */
};

struct expiries_late {
	__u64 time_ns;
	__u64 latency_ns;
	__u32 cpu, reserved;
};

#endif
