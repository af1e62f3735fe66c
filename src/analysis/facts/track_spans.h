/* SPDX-License-Identifier: GPL-2.0-only */
/* A timeline sink that turns the tracks of one CPU into spans. */
#ifndef REPORT_TRACK_SPANS_H
#define REPORT_TRACK_SPANS_H

#include "calls/timeline.h"
#include "facts/spans.h"

struct track_spans;

/* The sink for track_spans_ops. A negative CPU means the first one seen. The timeline uses the
 * names of the spans and has one part. */
int track_spans_new(struct track_spans **ret, struct spans *spans, int cpu) _must_check_;
void track_spans_free(struct track_spans *sink);
static inline void track_spans_freep(struct track_spans **sink)
{
	track_spans_free(*sink);
}

/* finish() returns -ENODATA without data of that CPU, or errors of spans_begin(). */
extern const struct timeline_ops track_spans_ops;

#endif
