/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Schedulers and priorities of threads, in rtla's notation. */
#ifndef LIB_BASE_SCHEDULING_H
#define LIB_BASE_SCHEDULING_H

#include <stddef.h>
#include <stdint.h>

/* The kernel's struct sched_attr, whose header conflicts with <sched.h>. */
struct scheduling {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

/* Parses `f:PRIORITY`, `r:PRIORITY`, `o:NICE` or `d:RUNTIME:PERIOD` (times). */
int scheduling_parse(const char *text, struct scheduling *attr);

/* Formats the notation of scheduling_parse(). */
void scheduling_format(const struct scheduling *attr, char *text, size_t size);

/* Why the kernel may have refused it, to append to the message; may be "". */
const char *scheduling_advice(const struct scheduling *attr, int err);

int scheduling_set(int tid, const struct scheduling *attr);
int scheduling_get(int tid, struct scheduling *attr);

#endif
