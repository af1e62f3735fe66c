/* SPDX-License-Identifier: GPL-2.0-only */
/* Parses the window of --time. */
#ifndef CTL_EXPORT_WINDOW_H
#define CTL_EXPORT_WINDOW_H

#include <stdint.h>

#include "util.h"

/*
 * `-200us,50us` is relative to the spike; `7.788,7.789` are seconds of the trace's clock, as in
 * perf. An empty side becomes 0 or UINT64_MAX. The result is ns of the trace's clock. Returns 0,
 * -EINVAL if malformed, -ERANGE if empty, or -ENOENT if relative without a spike (0).
 */
int window_parse(const char *s, uint64_t spike, uint64_t *begin, uint64_t *end) _must_check_;

#endif
