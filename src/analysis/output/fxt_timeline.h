/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes a timeline to a file of the Fuchsia trace format. A slice may turn out to have begun
 * before all that was written, but must come first in the file. So the body goes to a file of its
 * own, and is copied at the end.
 */
#ifndef REPORT_FXT_TIMELINE_H
#define REPORT_FXT_TIMELINE_H

#include <signal.h>

#include "calls/timeline.h"

struct fxt_timeline_opts {
	int fd;		      /* output; stays open */
	int body;	      /* an empty file on the same file system; stays open */
	const char *path;     /* of the output, compressed if it ends with .gz */
	uint16_t max_strings; /* see fxt_new() */
	uint8_t max_threads;
	const volatile sig_atomic_t *stop; /* -EINTR once set; may be NULL */
};

struct fxt_timeline;

/* The sink of fxt_timeline_ops. */
int fxt_timeline_new(struct fxt_timeline **ret, const struct fxt_timeline_opts *opts,
		     struct names *names) _must_check_;
void fxt_timeline_free(struct fxt_timeline *sink);

/* finish() writes the output. */
extern const struct timeline_ops fxt_timeline_ops;

#endif
