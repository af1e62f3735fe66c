/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a timeline goes to files of the Fuchsia trace format, one for each of its parts. Slices
 * that turn out to have begun before anything that is written already are put in front at the end:
 * what is written goes to a nameless file first.
 */
#ifndef REPORT_FXT_TIMELINE_H
#define REPORT_FXT_TIMELINE_H

#include <signal.h>

#include "timeline.h"

struct fxt_timeline_opts {
	const char *path;     /* of the result; with .gz at its end it is compressed */
	bool split;	      /* each file has the number of its part */
	uint16_t max_strings; /* as of fxt_new() */
	uint8_t max_threads;
	const volatile sig_atomic_t *stop; /* -EINTR once it is not 0; or NULL */
};

struct fxt_timeline;

/* The sink of fxt_timeline_ops. */
int fxt_timeline_new(struct fxt_timeline **ret, const struct fxt_timeline_opts *opts,
		     struct names *names) _must_check_;
/* Files that are not finished go away. */
void fxt_timeline_free(struct fxt_timeline *sink);

/* Its finish() makes the files appear under their names, or there are none. */
extern const struct timeline_ops fxt_timeline_ops;

#endif
