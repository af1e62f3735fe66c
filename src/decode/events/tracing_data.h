/* SPDX-License-Identifier: GPL-2.0-only */
/* The feature TRACING_DATA of a perf.data: the kernel's formats of its tracepoints. It is not
 * trusted. Nothing is copied; all pointers stay within the file. */
#ifndef DECODE_TRACING_DATA_H
#define DECODE_TRACING_DATA_H

#include "sample.h"
#include "util.h"

struct tracing_format {
	const char *system;
	struct perfdata_bytes text; /* from tracefs: events/SYSTEM/NAME/format */
	uint64_t id;		    /* attr.config of the event */
};

/* All zero: not in the file. */
struct tracing_data {
	struct tracing_format *formats; /* sorted by ID */
	size_t nr;
	uint8_t long_size;
};

/* Returns 0, -ENOENT without the feature, -EINVAL if damaged, -ENOTSUP for the other byte order, or
 * -ENOMEM. */
int tracing_data_read(struct tracing_data *data, const struct perfdata_file *file) _must_check_;
void tracing_data_release(struct tracing_data *data);

/* NULL: none. */
const struct tracing_format *tracing_data_find(const struct tracing_data *data, uint64_t id);

#endif
