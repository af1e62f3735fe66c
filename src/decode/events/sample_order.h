/* SPDX-License-Identifier: GPL-2.0-only */
/* The samples of a perf.data in order of time. The first pass finds the records of the window and
 * keeps their offsets; the second pass reads them. */
#ifndef DECODE_SAMPLE_ORDER_H
#define DECODE_SAMPLE_ORDER_H

#include "sample.h"
#include "util.h"

struct sample_window {
	const int *cpus; /* must stay; nr_cpus 0: all */
	size_t nr_cpus;
	uint64_t begin, end; /* inclusive */
};

struct sample_order;

/* `file` and `events` must stay. Returns 0 or -ENOMEM. */
int sample_order_new(struct sample_order **ret, const struct perfdata_file *file,
		     const struct perfdata_events *events,
		     const struct sample_window *window) _must_check_;
void sample_order_free(struct sample_order *order);

/* The next sample; those of equal time stay in the order of the file. Returns 1, 0 at the end, or
 * -ENOMEM. */
int sample_order_next(struct sample_order *order, struct perfdata_sample *sample) _must_check_;

#endif
