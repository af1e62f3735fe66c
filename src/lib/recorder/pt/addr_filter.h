/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Address filters of Intel PT: written as for `perf record --filter`, with symbols; the kernel
 * takes numbers. */
#ifndef LIB_RECORDER_PT_ADDR_FILTER_H
#define LIB_RECORDER_PT_ADDR_FILTER_H

#include "base/log.h"

/* `filter|start|stop|tracestop SYM [#N|#g] [/ SYM or SIZE] [@ FILE]`, several with commas or spaces
 * between, to what the kernel and perf's decoder read, as `filter 0xADDRESS/0xSIZE`, for the caller
 * to free. max: as many ranges as the PMU has. -EINVAL, or -ENOENT for a symbol or file that is
 * not there, with a message that names the filter. */
int addr_filter_resolve(char **ret, const char *text, unsigned int max, const struct log *log);

/* What in a resolved filter could be why the kernel answers EOPNOTSUPP, and what would do. */
const char *addr_filter_unsupported(const char *resolved);

#endif
