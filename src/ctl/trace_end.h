/* SPDX-License-Identifier: GPL-2.0-only */
/* The end of a trace that has no times: perf can be told to decode only a part of it by bytes. */
#ifndef CTL_TRACE_END_H
#define CTL_TRACE_END_H

#include "util.h"

/* Writes a copy of `data`, a folder of perf.data, to `folder`, which is made: with the end of the
 * Intel PT trace of `cpu` (negative: of the first that has one), and no other CPU's. The kernel's
 * code is a link to that in `data`. Returns 0 or a negative errno; -EINVAL: it is no whole file. */
int trace_end_copy(const char *data, int cpu, const char *folder) _must_check_;

#endif
