/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracks which task runs on a CPU while a segment is decoded. */
#ifndef DECODE_WHO_H
#define DECODE_WHO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sideband/sideband.h"

struct who {
	const struct sideband_task *tasks;
	size_t nr, next;  /* the next switch */
	int32_t pid, tid; /* -1: not known */
	/* The segment began while the CPU changed to `next`; no branch to __switch_to was seen
	 * since. */
	bool midway;
};

/* For a CPU, at the beginning of a segment. */
void who_begin(struct who *who, const struct sideband_task *tasks, size_t nr, uint64_t time);

/* Advances by time alone. True: another task runs. */
bool who_at(struct who *who, uint64_t time);

/* The same in user space: no task from before `time` is still being switched from. */
bool who_in_user(struct who *who, uint64_t time);

/* At a branch to __switch_to, up to `until`. True: another task runs. */
bool who_switch(struct who *who, uint64_t time, uint64_t until);

/* The time to call who_at() again. */
static inline uint64_t who_until(const struct who *who)
{
	return who->next < who->nr ? who->tasks[who->next].latest : UINT64_MAX;
}

#endif
