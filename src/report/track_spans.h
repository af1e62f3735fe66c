/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the tracks of one CPU in a timeline go to spans. */
#ifndef REPORT_TRACK_SPANS_H
#define REPORT_TRACK_SPANS_H

#include "spans.h"
#include "timeline.h"

struct track_spans;

/* The sink of track_spans_ops. A negative CPU: the first there is. Of the timeline, the names are
 * those of the spans, and there is one part. */
int track_spans_new(struct track_spans **ret, struct spans *spans, int cpu) _must_check_;
void track_spans_free(struct track_spans *sink);
static inline void track_spans_freep(struct track_spans **sink)
{
	track_spans_free(*sink);
}

/* Its finish() returns -ENODATA if there is nothing of that CPU, and errors as of spans_begin(). */
extern const struct timeline_ops track_spans_ops;

#endif
