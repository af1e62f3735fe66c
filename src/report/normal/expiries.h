/* SPDX-License-Identifier: GPL-2.0-only */
/* The expiries of one timer, by the events of timers. */
#ifndef REPORT_EXPIRIES_H
#define REPORT_EXPIRIES_H

#include "events/tracepoints.h"
#include "normal/activations.h"

/* Which timer. One on the stack of a thread that sleeps has another address each time: kernels
 * randomize the stack of system calls. */
struct expiries_of {
	int cpu;
	uint64_t address; /* the last one */
	bool sleeps;	  /* then the timers that the same thread arms are the same */
	bool any;	  /* all timers of that CPU */
};

/* Sets timer->expiries, which the caller frees. Returns 0 or -ENOMEM. */
int expiries_read(struct tracepoints *tracepoints, const struct expiries_of *of,
		  struct timer *timer) _must_check_;

#endif
