/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints the results of a session as text. */
#ifndef CTL_SESSION_REPORT_H
#define CTL_SESSION_REPORT_H

#include <stdio.h>

#include "session/results.h"

/* Returns 0 or -ENOMEM. */
int report_print(FILE *file, const struct results *results);

/* Formats `, ran on CPU 1` if the thread was migrated; else "". Returns buf. */
const char *report_ran(char *buf, size_t size, const struct perf_poke_spike *spike);

#endif
