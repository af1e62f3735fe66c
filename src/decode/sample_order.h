/* SPDX-License-Identifier: GPL-2.0-only */
/* The samples of a perf.data in the order of time. All records are looked at once, those of the
 * window a second time; of each of these it is kept where it is. */
#ifndef DECODE_SAMPLE_ORDER_H
#define DECODE_SAMPLE_ORDER_H

#include "sample.h"
#include "util.h"

struct sample_window {
	const int *cpus; /* must stay; nr_cpus 0: all */
	size_t nr_cpus;
	uint64_t begin, end; /* both are in it */
};

struct sample_order;

/* `file` and `events` must stay. Returns 0 or -ENOMEM. */
int sample_order_new(struct sample_order **ret, const struct perfdata_file *file,
		     const struct perfdata_events *events,
		     const struct sample_window *window) _must_check_;
void sample_order_free(struct sample_order *order);

/* The next one; those of the same time are in the order of the file. Returns 1, 0: there are no
 * more, or -ENOMEM. */
int sample_order_next(struct sample_order *order, struct perfdata_sample *sample) _must_check_;

#endif
