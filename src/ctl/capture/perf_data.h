/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether a perf.data is whole: perf crashes or hangs when the end of one is missing. */
#ifndef CTL_CAPTURE_PERF_DATA_H
#define CTL_CAPTURE_PERF_DATA_H

#include "util.h"

/* Returns 0, or a negative errno with *why, for the caller to free, saying what is wrong with the
 * file. */
int perf_data_check(const char *path, char **why) _must_check_;

#endif
