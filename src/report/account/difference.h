/* SPDX-License-Identifier: GPL-2.0-only */
/* Compares two captures: where their execution diverges, and what took longer. */
#ifndef REPORT_DIFFERENCE_H
#define REPORT_DIFFERENCE_H

#include "account/account.h"

struct longer {
	const char *name; /* owned by one of the accounts */
	enum span_kind kind;
	uint64_t here_ns, there_ns;
};

/* Spans of code: functions, or interrupts if functions are unknown. */
struct parting {
	uint32_t same;			/* number of equal calls in a row; 0: nothing to compare */
	uint32_t here, there;		/* first of them */
	uint32_t then_here, then_there; /* the next one; SPAN_NONE: none */
};

struct difference {
	struct parting parting;
	struct longer *longer; /* largest difference first */
	size_t nr_longer;
};

/* Both must be from the same recorder. Returns 0 or -ENOMEM. */
int difference_make(struct difference *difference, const struct account *here,
		    const struct account *there) _must_check_;
void difference_release(struct difference *difference);

void difference_print(FILE *file, const struct difference *difference, const struct account *here,
		      const struct account *there, size_t top);
json_object *difference_json(const struct difference *difference, const struct account *here,
			     const struct account *there, size_t top);

#endif
