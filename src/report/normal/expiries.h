/* SPDX-License-Identifier: GPL-2.0-only */
/* Expiries of one timer, from timer events. */
#ifndef REPORT_EXPIRIES_H
#define REPORT_EXPIRIES_H

#include "events/tracepoints.h"
#include "normal/activations.h"

/* Identifies the timer. On the stack of a sleeping thread, its address differs each time: kernels
 * randomize the stack of system calls. */
struct expiries_of {
	int cpu;
	uint64_t address; /* its last address */
	bool sleeps;	  /* then all timers armed by that thread are the same timer */
	bool any;	  /* all timers of that CPU */
};

/* Sets timer->expiries, which the caller frees. Returns 0 or -ENOMEM. */
int expiries_read(struct tracepoints *tracepoints, const struct expiries_of *of,
		  struct timer *timer) _must_check_;

#endif
