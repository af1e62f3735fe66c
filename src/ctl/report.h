/* SPDX-License-Identifier: GPL-2.0-only */
/* The results of a session for people. */
#ifndef CTL_REPORT_H
#define CTL_REPORT_H

#include <stdio.h>

#include "results.h"

/* Returns 0 or -ENOMEM. */
int report_print(FILE *file, const struct results *results);

#endif
