/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Address filters of Intel PT: the syntax of `perf record --filter`, resolved to addresses. */
#ifndef LIB_RECORDER_PT_ADDR_FILTER_H
#define LIB_RECORDER_PT_ADDR_FILTER_H

#include "base/log.h"

/* Resolves `filter|tracestop|stop SYM [#N|#g] [/ SYM or SIZE]`, several separated by commas or
 * spaces, to the form of the kernel and perf's decoder: `filter 0xADDRESS/0xSIZE`. The caller frees
 * it. max: address ranges of the PMU. -EINVAL, or -ENOENT for a missing symbol, with a message that
 * quotes the filter. */
int addr_filter_resolve(char **ret, const char *text, unsigned int max, const struct log *log);

/* Why the kernel may refuse a resolved filter with EOPNOTSUPP, and a remedy. */
const char *addr_filter_unsupported(const char *resolved);

#endif
