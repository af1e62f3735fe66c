/* SPDX-License-Identifier: GPL-2.0-only */
/* A part of the time of a trace, as people write it. */
#ifndef CTL_EXPORT_WINDOW_H
#define CTL_EXPORT_WINDOW_H

#include <stdint.h>

#include "util.h"

/*
 * `-200us,50us` from before to after the spike, in ns on the trace's clock; `7.788,7.789` seconds
 * on that clock itself, as perf has them. Either side may be empty: 0 and UINT64_MAX. Returns 0,
 * -EINVAL if malformed, -ERANGE if it ends before it begins, -ENOENT if it is relative and there is
 * no spike (0).
 */
int window_parse(const char *s, uint64_t spike, uint64_t *begin, uint64_t *end) _must_check_;

#endif
