/* SPDX-License-Identifier: GPL-2.0-only */
/* Who runs on a CPU, while one segment of its trace is decoded. */
#ifndef DECODE_WHO_H
#define DECODE_WHO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sideband.h"

struct who {
	const struct sideband_task *tasks;
	size_t nr, next;  /* the first that does not run yet */
	int32_t pid, tid; /* -1: not known */
	/* The segment began while the CPU changed to `next`; no branch to __switch_to was seen
	 * since. */
	bool midway;
};

/* Of a CPU, at the time that a segment begins. */
void who_begin(struct who *who, const struct sideband_task *tasks, size_t nr, uint64_t time);

/* By the time alone. True: another one runs since. */
bool who_at(struct who *who, uint64_t time);

/* The same, in user space: no task before `time` is still being left. */
bool who_in_user(struct who *who, uint64_t time);

/* At a branch to __switch_to, no later than `until`. True: another one runs since. */
bool who_switch(struct who *who, uint64_t time, uint64_t until);

/* When who_at() is to be asked again. */
static inline uint64_t who_until(const struct who *who)
{
	return who->next < who->nr ? who->tasks[who->next].latest : UINT64_MAX;
}

#endif
