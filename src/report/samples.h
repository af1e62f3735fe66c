/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a CPU was, by samples of it: those of events that are no tracepoints. */
#ifndef REPORT_SAMPLES_H
#define REPORT_SAMPLES_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "names.h"
#include "tracepoints.h"

/* In the order of time. All zero is none. */
struct samples {
	struct sampled {
		uint64_t at;
		size_t first; /* of `frames` */
		uint32_t nr;
	} * list;
	size_t nr;
	uint32_t *frames; /* names, innermost first */
	size_t nr_frames;
};

/* Returns 0 or -ENOMEM. */
int samples_add(struct samples *samples, struct names *names, struct tracepoints *tracepoints,
		const struct tracepoint_event *event) _must_check_;

static inline void samples_release(struct samples *samples)
{
	free(samples->list);
	free(samples->frames);
	*samples = (struct samples){ 0 };
}

#define SAMPLES_CALLERS 3

/* What most samples of a time have in common. */
struct samples_mostly {
	size_t nr, all;	   /* samples in the function, of all there are */
	uint32_t function; /* 0: there are no samples */
	uint32_t callers[SAMPLES_CALLERS];
	size_t nr_callers;
};

/* The innermost function that more than half of the samples are in, or else the most are in.
 * Returns 0 or -ENOMEM. */
int samples_find(struct samples_mostly *mostly, const struct samples *samples,
		 const struct names *names, uint64_t begin, uint64_t end) _must_check_;

/* As `11 of 13 samples in acme_flush() < ...`; nothing if there are none. */
void samples_put(FILE *file, const struct samples_mostly *mostly, const struct names *names,
		 const char *before);

#endif
