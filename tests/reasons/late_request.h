/* SPDX-License-Identifier: GPL-2.0-only */
/* The ways in which a request is late. A mode is a row; a field that it does not need is NULL. */
#ifndef LATE_REQUEST_H
#define LATE_REQUEST_H

#include <stdatomic.h>

struct mode {
	const char *name;
	void (*prepare)(void);
	void (*hold)(void);    /* partner: before the request begins */
	void (*end)(void);     /* partner: MS later */
	void (*request)(void); /* what is measured */
	void (*restore)(void); /* requester: after it */
};

/* Locks of user space and of System V, message queues; the last one has no name. */
extern const struct mode lock_modes[];
/* The CPU of the partner, and how long it takes. */
extern int partner_cpu;
extern long late_us;
/* Whether the partner is ready for the request. */
extern atomic_int held;

void compute(long us);
void pin(int cpu);
void check(long result, const char *what);

#endif
