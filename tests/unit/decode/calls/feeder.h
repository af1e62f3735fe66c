/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Synthetic programs for struct calls. Standard input has a line for each of
 *
 *	symbol NAME START END k|u
 *	comm TIME TID NAME
 *	insn TIME CPU PID TID IP LENGTH IRQS CYCLES
 *	branch TIME CPU PID TID FROM TO LENGTH FLAGS
 *
 * with numbers as hexadecimal digits; names of a task before what it does, in their order.
 */
#ifndef TEST_FEEDER_H
#define TEST_FEEDER_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls/calls.h"

struct feeder_comm {
	uint64_t time;
	int tid;
	char name[16];
};

struct feeder {
	struct symbol symbols[100000];
	size_t nr;
	struct feeder_comm comms[1000];
	size_t nr_comms;
	struct names *names;
	struct calls *calls;
};

static inline void feeder_must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "feed: %s\n", what);
	exit(1);
}

static const struct symbol *feeder_resolve(void *arg, const struct calls_event *event, uint64_t ip)
{
	struct feeder *feeder = arg;

	for (size_t i = 0; i < feeder->nr; i++) {
		if (symbol_has(&feeder->symbols[i], ip))
			return &feeder->symbols[i];
	}
	return NULL;
}

static const char *feeder_name(void *arg, const struct calls_event *event)
{
	const struct feeder *feeder = arg;

	for (size_t i = feeder->nr_comms; i--;) {
		const struct feeder_comm *comm = &feeder->comms[i];

		if (comm->tid == event->tid && comm->time <= event->time)
			return comm->name;
	}
	return event->tid ? "task" : "swapper";
}

static inline bool feeder_symbol(struct feeder *feeder, const char *line)
{
	struct symbol *symbol = &feeder->symbols[feeder->nr];
	char name[64], kind;

	if (sscanf(line, "symbol %63s %" SCNx64 " %" SCNx64 " %c", name, &symbol->start,
		   &symbol->end, &kind) != 4)
		return false;
	feeder_must(++feeder->nr < ARRAY_SIZE(feeder->symbols), "too many symbols");
	symbol->name = names_add(feeder->names, name);
	symbol->kernel = kind == 'k';
	if (strstr(name, ".cold"))
		*strstr(name, ".cold") = '\0';
	symbol->base = names_add(feeder->names, name);
	return true;
}

static inline bool feeder_comm(struct feeder *feeder, const char *line)
{
	struct feeder_comm *comm = &feeder->comms[feeder->nr_comms];

	feeder_must(feeder->nr_comms < ARRAY_SIZE(feeder->comms), "too many names");
	if (sscanf(line, "comm %" SCNx64 " %x %15s", &comm->time, (unsigned int *)&comm->tid,
		   comm->name) != 3)
		return false;
	feeder->nr_comms++;
	return true;
}

static inline void feeder_line(struct feeder *feeder, const char *line)
{
	struct calls_event event = { 0 };
	unsigned int length, irqs;

	if (feeder_symbol(feeder, line) || feeder_comm(feeder, line))
		return;
	if (sscanf(line, "insn %" SCNx64 " %x %x %x %" SCNx64 " %x %x %" SCNx64, &event.time,
		   (unsigned int *)&event.cpu, (unsigned int *)&event.pid,
		   (unsigned int *)&event.tid, &event.from, &length, &irqs, &event.cycles) == 8) {
		event.flags = CALLS_INSN;
		event.insns = 1;
		event.irqs = (enum irq_change)irqs;
	} else {
		feeder_must(sscanf(line,
				   "branch %" SCNx64 " %x %x %x %" SCNx64 " %" SCNx64 " %x %x",
				   &event.time, (unsigned int *)&event.cpu,
				   (unsigned int *)&event.pid, (unsigned int *)&event.tid,
				   &event.from, &event.to, &length, &event.flags) == 8,
			    line);
	}
	event.length = (uint8_t)length;
	calls_add(feeder->calls, &event);
}

/* Reads all input. Prints the numbers of slices and gaps if requested; returns as
 * timeline_finish(). */
static inline int feeder_run(struct feeder *feeder, struct calls_opts *calls,
			     const struct timeline_opts *opts, bool print)
{
	struct timeline *timeline;
	char line[256];
	uint64_t at;
	int r;

	calls->resolve = feeder_resolve;
	calls->comm = feeder_name;
	calls->arg = feeder;
	feeder_must(!timeline_new(&timeline, opts, feeder->names) &&
			    !calls_new(&feeder->calls, calls, timeline, feeder->names),
		    "no memory");
	while (fgets(line, sizeof(line), stdin) && *line != '\n')
		feeder_line(feeder, line);
	r = calls_finish(feeder->calls, &at) ?: timeline_finish(timeline, at);
	if (!r && print)
		printf("%" PRIu64 " %" PRIu64 "\n", timeline_slices(timeline),
		       calls_gaps(feeder->calls));
	calls_free(feeder->calls);
	timeline_free(timeline);
	return r;
}

#endif
