/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Schedulers and priorities of threads, written as rtla has them. */
#ifndef LIB_BASE_SCHEDULING_H
#define LIB_BASE_SCHEDULING_H

#include <stddef.h>
#include <stdint.h>

/* As the kernel has it (struct sched_attr), whose header does not go together with <sched.h>. */
struct scheduling {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

/* `f:PRIORITY`, `r:PRIORITY`, `o:NICE`, `d:RUNTIME:PERIOD`, the last two times. -EINVAL. */
int scheduling_parse(const char *text, struct scheduling *attr);

/* As it is in messages, and as it was parsed. */
void scheduling_format(const struct scheduling *attr, char *text, size_t size);

/* Why the kernel may have refused it, to stand behind the error; or "". */
const char *scheduling_advice(const struct scheduling *attr, int err);

int scheduling_set(int tid, const struct scheduling *attr);
int scheduling_get(int tid, struct scheduling *attr);

#endif
