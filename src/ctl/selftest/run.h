/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs one row of the selftest: a session that captures delayed timers. */
#ifndef CTL_SELFTEST_RUN_H
#define CTL_SELFTEST_RUN_H

#include "capture/perf_tool.h"
#include "cli/console.h"
#include "selftest/load.h"
#include "selftest/row.h"

struct run {
	struct console *con; /* for messages of the session and of decoding */
	int cpu;
	uint64_t threshold_ns;
	const char *output;	      /* folder for captures; created if missing */
	const struct perf_tool *perf; /* or NULL */
	struct load load;
};

/* Sets the observations and the verdicts. Stops early, after cleaning up, once ending_asked is set.
 */
void run_row(struct run *run, struct row *row);

#endif
