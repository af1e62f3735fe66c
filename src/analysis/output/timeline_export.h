/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes the trace of a capture, of Intel PT or of events, as a timeline. */
#ifndef ANALYSIS_TIMELINE_EXPORT_H
#define ANALYSIS_TIMELINE_EXPORT_H

#include "facts/captures.h"
#include "output/fxt.h"

struct timeline_export {
	const struct analysis_hooks *hooks;
	const char *folder; /* of the capture */
	const char *data;   /* its perf.data */
	const struct facts *facts;
	const char *time;     /* for window_parse(); NULL: all */
	const char *symfs;    /* see struct decode_opts */
	enum calls_axis axis; /* of Intel PT */
	unsigned int threads; /* that decode; 0: one for each CPU */
};

/* Of events, the result has slices only. Returns 0, or a negative errno with *why. */
int timeline_export(const struct timeline_export *export, const struct fxt_timeline_opts *file,
		    struct decoding_result *result, char **why) _must_check_;

/* Parses a window of time.
 * `-200us,50us` is relative to the spike; `7.788,7.789` are seconds of the trace's clock, as in
 * perf. An empty side becomes 0 or UINT64_MAX. The result is ns of the trace's clock. Returns 0,
 * -EINVAL if malformed, -ERANGE if empty, or -ENOENT if relative without a spike (0).
 */
int window_parse(const char *s, uint64_t spike, uint64_t *begin, uint64_t *end) _must_check_;

#endif
