/* SPDX-License-Identifier: GPL-2.0-only */
/* An export in which several perfs decode slices of the trace at once. */
#ifndef CTL_EXPORT_JOBS_H
#define CTL_EXPORT_JOBS_H

#include "export.h"
#include "trace_cuts.h"

struct export_jobs {
	const struct export_args *args;
	const char *perf, *dlfilter, *data;
	const char *folder; /* for what is there meanwhile; also the result's */
	char *const *argv;  /* of perf alone, as export_argv() */
	const struct trace_slice *slices;
	size_t nr_slices;
	unsigned int nr_jobs;
};

/* As export_run(); -ESTALE: the slices do not fit together, so that it takes one perf. */
int export_jobs_run(struct console *con, const struct export_jobs *jobs,
		    struct export_result *result) _must_check_;

#endif
