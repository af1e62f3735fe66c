/* SPDX-License-Identifier: GPL-2.0-only */
/* Two captures: where what they executed parts, and what took longer. */
#ifndef REPORT_DIFFERENCE_H
#define REPORT_DIFFERENCE_H

#include "account.h"

struct longer {
	const char *name; /* of one of the accounts */
	enum span_kind kind;
	uint64_t here_ns, there_ns;
};

/* Spans of code: functions, or interrupts where no functions are known. */
struct parting {
	uint32_t same;	      /* how many in a row are the same; 0: there is nothing to compare */
	uint32_t here, there; /* the first of these */
	uint32_t then_here, then_there; /* what follows, or SPAN_NONE: nothing does */
};

struct difference {
	struct parting parting;
	struct longer *longer; /* the largest difference first */
	size_t nr_longer;
};

/* Both of the same recorder. Returns 0 or -ENOMEM. */
int difference_make(struct difference *difference, const struct account *here,
		    const struct account *there) _must_check_;
void difference_release(struct difference *difference);

void difference_print(FILE *file, const struct difference *difference, const struct account *here,
		      const struct account *there, size_t top);
json_object *difference_json(const struct difference *difference, const struct account *here,
			     const struct account *there, size_t top);

#endif
