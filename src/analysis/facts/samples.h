/* SPDX-License-Identifier: GPL-2.0-only */
/* Samples of a CPU: events that are not tracepoints. */
#ifndef ANALYSIS_SAMPLES_H
#define ANALYSIS_SAMPLES_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "code/names.h"
#include "events/tracepoints.h"
#include "facts/schedule.h"

/* On all 64-bit architectures, user space has the lower half. */
#define KERNEL_FIRST (UINT64_C(1) << 63)

/* The file that a frame is in: names; 0: unknown. */
struct samples_file {
	uint32_t path, build_id; /* hexadecimal */
	uint64_t offset;	 /* of the function in it */
};

/* Names a user-space address of a sample; 0: unknown. *file is what is known, and may be NULL. */
typedef uint32_t samples_namer(void *context, struct names *names,
			       const struct tracepoint_event *event, uint64_t address,
			       struct samples_file *file);

/* In order of time. Zero-initialised means none. */
struct samples {
	struct sampled {
		uint64_t at;
		size_t first;		/* in `frames` */
		uint32_t nr, nr_kernel; /* the kernel's are innermost */
		int pid, tid;		/* -1: unknown */
	} * list;
	size_t nr;
	uint32_t *frames;	    /* names, innermost first */
	struct samples_file *files; /* of the frames */
	size_t nr_frames;
	uint64_t period_ns;   /* of a clock that samples; 0: unknown */
	samples_namer *namer; /* set by the caller; NULL: user space is one frame */
	void *context;
};

/* Returns 0 or -ENOMEM. */
int samples_add_event(struct samples *samples, struct names *names, struct tracepoints *tracepoints,
		      const struct tracepoint_event *event) _must_check_;

static inline void samples_release(struct samples *samples)
{
	free(samples->list);
	free(samples->frames);
	free(samples->files);
	*samples = (struct samples){ 0 };
}

#define SAMPLES_CALLERS 16
#define SAMPLES_CALLERS_PRINTED 3

/* The function that most samples of an interval share. */
struct samples_mostly {
	size_t nr, all;	   /* samples in the function, and all samples */
	uint32_t function; /* 0: no samples */
	uint32_t callers[SAMPLES_CALLERS];
	size_t nr_callers;
	size_t nr_kernel; /* callers of the kernel, if the function is of the kernel */
	bool kernel;
	/* They stand for less than half of the time, as where interrupts are off: no function. */
	bool few;
};

/* Which samples count: those of an interval, while a thread was in a state, if there are stays. */
struct samples_want {
	uint64_t begin, end;
	const struct thread_stays *stays;
	enum thread_state state;
	bool clear;
};

/* *since: when the thread came into its state; without a state, the begin. */
bool samples_are_wanted_at(const struct samples_want *want, uint64_t at, uint64_t *since);

/* The innermost function in more than half of the samples, or else the most frequent one. If it is
 * to be a clear majority: in two of three, or none: of two functions that take about half each,
 * now the one has more samples and now the other. Returns 0 or -ENOMEM. */
int samples_find_mostly(struct samples_mostly *mostly, const struct samples *samples,
			const struct names *names, const struct samples_want *want) _must_check_;

/* Such as `11 of 13 samples in acme_flush() < ...`, or `only 3 samples`; nothing if there are none.
 */
void samples_put_mostly(FILE *file, const struct samples_mostly *mostly, const struct names *names,
			const char *before);

#endif
