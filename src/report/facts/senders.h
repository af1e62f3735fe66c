/* SPDX-License-Identifier: GPL-2.0-only */
/* Senders of work to a CPU: interrupts and function calls from other CPUs, and queued work. */
#ifndef REPORT_SENDERS_H
#define REPORT_SENDERS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "events/tracepoints.h"

#define SENDERS_MAX 32
#define SENDER_CALLERS_MAX 3

struct sender {
	uint64_t time;
	int cpu, pid, tid;
	bool queued;			      /* work for a kernel thread; otherwise an interrupt */
	char task[32];			      /* empty: unknown */
	char function[96];		      /* to run there; empty: unknown */
	char callers[SENDER_CALLERS_MAX][96]; /* innermost first */
	unsigned int nr_callers;
};

/* The newest ones, unordered. Zero-initialised means none. */
struct senders {
	struct sender rows[SENDERS_MAX];
	uint64_t nr; /* total number seen */
};

/* Adds the event, of any CPU, if it targets `cpu`. */
void senders_take(struct senders *senders, struct tracepoints *tracepoints,
		  const struct tracepoint_event *event, int cpu);

/* Looks up the names of the senders' tasks. */
void senders_name(struct senders *senders, const struct perfdata_file *file);

/* The newest sender before `at` with this function, or with no known function if it is NULL. NULL:
 * none. */
const struct sender *senders_find(const struct senders *senders, uint64_t at, const char *function);

/* Such as `sent by CPU 0, task 1234 gpu-poller, from foo() < bar()`. */
void sender_put(FILE *file, const struct sender *sender);

#endif
