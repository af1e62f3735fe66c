/* SPDX-License-Identifier: GPL-2.0-only */
/* Decodes a capture of the selftest with our report and with stock perf. */
#ifndef CTL_SELFTEST_DECODE_H
#define CTL_SELFTEST_DECODE_H

#include "capture/perf_tool.h"
#include "cli/console.h"
#include "selftest/row.h"

/* Both store their results in the capture; messages go to the console. */
void decode_by_report(struct row_capture *capture, struct console *con);
void decode_by_perf(struct row_capture *capture, const struct perf_tool *perf, struct console *con);

#endif
