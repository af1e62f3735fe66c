/* SPDX-License-Identifier: GPL-2.0-only */
/* The fields of a tracepoint, by its format, which libtraceevent reads. Formats are not trusted:
 * libtraceevent gets only what it can handle. */
#ifndef DECODE_EVENT_FORMAT_H
#define DECODE_EVENT_FORMAT_H

#include "perfdata_read.h"
#include "util.h"

/* The feature TRACING_DATA of a perf.data: the kernel's formats of its tracepoints. It is not
 * trusted. Nothing is copied; all pointers stay within the file. */
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

struct event_format;

/* Returns 0, -EINVAL for an invalid format, or -ENOMEM. */
int event_format_new(struct event_format **ret, const struct tracing_data *data,
		     const struct tracing_format *text) _must_check_;
void event_format_free(struct event_format *format);

const char *event_format_name(const struct event_format *format);

/* A numeric field, sign-extended. False: no such field, or outside of `raw`. */
bool event_format_number(const struct event_format *format, const struct perfdata_bytes *raw,
			 const char *field, uint64_t *value);

/* Whether the CPU is in a field that is a mask. False: no such field, or outside of `raw`. */
bool event_format_cpu(const struct event_format *format, const struct perfdata_bytes *raw,
		      const char *field, int cpu, bool *is_set);

/* A text field, truncated to `size` including its NUL. False, with "": no such field. */
bool event_format_text(const struct event_format *format, const struct perfdata_bytes *raw,
		       const char *field, char *text, size_t size);

#endif
