/* SPDX-License-Identifier: GPL-2.0-only */
/* A capture of the self-test, as our own report and as stock perf read it. */
#ifndef CTL_SELFTEST_DECODE_H
#define CTL_SELFTEST_DECODE_H

#include "capture/perf_tool.h"
#include "cli/console.h"
#include "selftest/row.h"

/* Fill in what they found; messages go to the console. */
void decode_by_report(struct row_capture *capture, struct console *con);
void decode_by_perf(struct row_capture *capture, const struct perf_tool *perf, struct console *con);

#endif
