/* SPDX-License-Identifier: GPL-2.0-only */
/* The fields of a tracepoint, by its format, which libtraceevent reads. Formats are not trusted:
 * libtraceevent gets only what it can handle. */
#ifndef DECODE_EVENT_FORMAT_H
#define DECODE_EVENT_FORMAT_H

#include "events/tracing_data.h"

struct event_format;

/* Returns 0, -EINVAL for an invalid format, or -ENOMEM. */
int event_format_new(struct event_format **ret, const struct tracing_data *data,
		     const struct tracing_format *text) _must_check_;
void event_format_free(struct event_format *format);

const char *event_format_name(const struct event_format *format);

/* A numeric field, sign-extended. False: no such field, or outside of `raw`. */
bool event_format_number(const struct event_format *format, const struct perfdata_bytes *raw,
			 const char *field, uint64_t *value);

/* A text field, truncated to `size` including its NUL. False, with "": no such field. */
bool event_format_text(const struct event_format *format, const struct perfdata_bytes *raw,
		       const char *field, char *text, size_t size);

#endif
