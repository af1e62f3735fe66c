/* SPDX-License-Identifier: GPL-2.0-only */
/* From what `export` writes of a CPU to spans. */
#ifndef REPORT_FXT_SPANS_H
#define REPORT_FXT_SPANS_H

#include <stdio.h>

#include "spans.h"

/* Of one CPU; a negative one: of the first there is. Returns 0, or a negative errno with *why, for
 * the caller to free, or NULL. -ENODATA: there is nothing of that CPU. */
int fxt_spans_read(FILE *file, int cpu, struct spans *spans, char **why) _must_check_;

#endif
