/* SPDX-License-Identifier: GPL-2.0-only */
/* The threads that a trace has, and what they are called at the time. */
#ifndef DECODE_THREADS_H
#define DECODE_THREADS_H

#include "cpu.h"

struct threads {
	struct timeline *timeline;
	struct names *names;
	struct stack_env *env;
	struct thread *first;
	uint32_t nr;
};

void threads_release(struct threads *threads);

/* The one that runs on this CPU. `comm` is its name by then; NULL: not known. Returns NULL if there
 * is no memory. */
struct thread *threads_find(struct threads *threads, const struct cpu *cpu, int pid, int tid,
			    const char *comm);

/* Returns whether this is another name than it had. */
bool threads_rename(struct threads *threads, struct thread *thread, const char *comm);

#endif
