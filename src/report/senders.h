/* SPDX-License-Identifier: GPL-2.0-only */
/* Who asked a CPU to do something: interrupts and calls from other CPUs, and queued work. */
#ifndef REPORT_SENDERS_H
#define REPORT_SENDERS_H

#include <stdint.h>
#include <stdio.h>

#include "tracepoints.h"

#define SENDERS_MAX 32
#define SENDER_CALLERS_MAX 3

struct sender {
	uint64_t time;
	int cpu, pid, tid;
	char task[32];			      /* empty: not known */
	char function[96];		      /* that is to run there; empty: not told */
	char callers[SENDER_CALLERS_MAX][96]; /* innermost first */
	unsigned int nr_callers;
};

/* The newest ones, in no order. All zero is none. */
struct senders {
	struct sender rows[SENDERS_MAX];
	uint64_t nr; /* that there were */
};

/* Takes an event, of whatever CPU, if by it somebody asks this one. */
void senders_take(struct senders *senders, struct tracepoints *tracepoints,
		  const struct tracepoint_event *event, int cpu);

/* Gives them the names of their tasks. */
void senders_name(struct senders *senders, const struct perfdata_file *file);

/* The newest before `at` that asked for this function, or, if it is NULL, for none that is known;
 * NULL: there is none. */
const struct sender *senders_find(const struct senders *senders, uint64_t at, const char *function);

/* As `sent by CPU 0, task 1234 gpu-poller, from foo() < bar()`. */
void sender_put(FILE *file, const struct sender *sender);

#endif
