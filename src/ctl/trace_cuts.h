/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a trace of Intel PT can be decoded in slices. */
#ifndef CTL_TRACE_CUTS_H
#define CTL_TRACE_CUTS_H

#include <stddef.h>
#include <stdint.h>

#include "util.h"

/* A slice, in perf's time. To be sure that a decoder knows all that it has to where the slice
 * begins, it begins earlier, with slices of the time before; and it goes on behind the end. */
struct trace_slice {
	uint64_t from, begin, end, to; /* 0 and UINT64_MAX: of the first and the last one */
};

/* How much trace a file has, in bytes. Returns 0, or a negative errno. */
int trace_size(const char *path, uint64_t *bytes) _must_check_;

/* Slices of about so many bytes each, for the caller to free: the last one has what is left, and
 * there are less of them if it cannot be cut so often. Returns 0 or a negative errno. */
int trace_cut(const char *path, const uint64_t *sizes, size_t max, struct trace_slice **slices,
	      size_t *nr) _must_check_;

#endif
