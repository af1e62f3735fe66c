/* SPDX-License-Identifier: GPL-2.0-only */
/* The threads of a trace, and their current names. */
#ifndef DECODE_THREADS_H
#define DECODE_THREADS_H

#include "calls/cpu.h"

struct threads {
	struct timeline *timeline;
	struct names *names;
	struct stack_env *env;
	struct thread *first;
	uint32_t nr;
};

void threads_release(struct threads *threads);

/* The thread that runs on this CPU. `comm` is its current name; NULL: unknown. Returns NULL if out
 * of memory. */
struct thread *threads_find(struct threads *threads, const struct cpu *cpu, int pid, int tid,
			    const char *comm);

/* Returns whether the name has changed. */
bool threads_rename(struct threads *threads, struct thread *thread, const char *comm);

#endif
