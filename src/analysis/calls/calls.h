/* SPDX-License-Identifier: GPL-2.0-only */
/* Turns decoded items into call stacks and events of each CPU. */
#ifndef DECODE_CALLS_H
#define DECODE_CALLS_H

#include "calls/timeline.h"

struct decode;
struct decode_item;

enum calls_axis {
	CALLS_TIME,
	CALLS_CYCLES,
	CALLS_INSNS,
};

struct calls_opts {
	enum calls_axis axis;
	/* The spike; time 0: none. */
	uint64_t spike, expected;
	uint64_t latency_ns;   /* a little less than between these: see struct perf_poke_spike */
	int spike_cpu;	       /* negative: any */
	struct decode *decode; /* knows the symbols of addresses and the names of threads */
};

struct calls;

int calls_new(struct calls **ret, const struct calls_opts *opts, struct timeline *timeline,
	      struct names *names) _must_check_;
void calls_free(struct calls *calls);

/* Items as decode_next() returns them. */
void calls_add(struct calls *calls, const struct decode_item *items, size_t nr);

/* Errors in the timeline's window: their number so far, and the first one. */
uint64_t calls_errors(const struct calls *calls, const struct decode_item **first);

/* Ends the trace. Finish the timeline at *at afterwards. *gaps: their number in the trace. Returns
 * 0, or a negative errno if anything failed. */
int calls_finish(struct calls *calls, uint64_t *at, uint64_t *gaps) _must_check_;

#endif
