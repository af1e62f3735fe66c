/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs one row of the self-test: a session that captures timers which are made late. */
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
	const char *output;	      /* folder for captures; made when missing */
	const struct perf_tool *perf; /* NULL: there is none */
	struct load load;
};

/* Fills in what is seen, and the verdicts. Ends early when a signal asked for it, see ending.h; all
 * that was begun has ended then. */
void run_row(struct run *run, struct row *row);

#endif
