/* SPDX-License-Identifier: GPL-2.0-only */
/* Begin and end of a span of the trigger, and where they are in a trace. */
#ifndef REPORT_ENDS_H
#define REPORT_ENDS_H

#include "events/tracepoints.h"
#include "spans/spans.h"

#define END_FUNCTIONS 4

struct end {
	char functions[END_FUNCTIONS][128]; /* for Intel PT: any of these */
	size_t nr;
	char event[128]; /* for events; "": none */
	bool at_return;	 /* at the return of the function */
};

struct ends {
	struct end entry, exit;
	bool by_thread; /* entry and exit in one thread; otherwise the next exit on the CPU */
};

/* An entry or exit. */
struct mark {
	uint64_t at;
	uint64_t thread;
	bool is_exit;
};

struct marks {
	struct mark *array; /* in order */
	size_t nr;
};

/* From events of the CPU. Returns 0 or -ENOMEM. */
int marks_read(struct marks *marks, struct tracepoints *tracepoints, const struct ends *ends,
	       int cpu) _must_check_;

/* From functions. Returns 0 or -ENOMEM. */
int marks_find(struct marks *marks, const struct spans *spans,
	       const struct ends *ends) _must_check_;

#endif
