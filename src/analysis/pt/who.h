/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracks which task runs on a CPU while a segment is decoded. */
#ifndef DECODE_WHO_H
#define DECODE_WHO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pt/sideband.h"

struct who {
	const struct sideband_task *tasks;
	size_t nr, next;  /* the next switch */
	int32_t pid, tid; /* -1: unknown */
	/* The segment began during a switch to `next`; no branch to __switch_to was seen since. */
	bool midway;
};

/* Begins a segment of a CPU. */
void who_begin(struct who *who, const struct sideband_task *tasks, size_t nr, uint64_t time);

/* Advances by time only. True: another task runs. */
bool who_at(struct who *who, uint64_t time);

/* The same in user space, where no switch from before `time` is in progress. */
bool who_in_user(struct who *who, uint64_t time);

/* At a branch to __switch_to, up to `until`. True: another task runs. */
bool who_switch(struct who *who, uint64_t time, uint64_t until);

/* Time of the next call of who_at(). */
static inline uint64_t who_until(const struct who *who)
{
	return who->next < who->nr ? who->tasks[who->next].latest : UINT64_MAX;
}

#endif
