/* SPDX-License-Identifier: GPL-2.0-only */
/* The format of a tracepoint, read with libtraceevent: positions of fields, and how to print them.
 * Formats are not trusted: libtraceevent gets only what it can handle. */
#ifndef DECODE_EVENT_FORMAT_H
#define DECODE_EVENT_FORMAT_H

#include "events/tracing_data.h"

struct event_format;

/* The kernel function at an address, for `%ps` in formats, and its start in *start. NULL:
 * unknown. */
typedef const char *event_resolver(void *context, uint64_t address, uint64_t *start);

/* `data` must stay valid. Returns 0, -EINVAL for an invalid format, or -ENOMEM. */
int event_format_new(struct event_format **ret, const struct tracing_data *data,
		     const struct tracing_format *text) _must_check_;
void event_format_free(struct event_format *format);

const char *event_format_name(const struct event_format *format);

/* Returns 0 or -ENOMEM. */
int event_format_resolve(struct event_format *format, event_resolver *resolver,
			 void *context) _must_check_;

/* A numeric field, sign-extended. False: no such field, or outside of `raw`. */
bool event_format_number(const struct event_format *format, const struct perfdata_bytes *raw,
			 const char *field, uint64_t *value);

/* A text field, truncated to `size` including its NUL. False, with "": no such field. */
bool event_format_text(const struct event_format *format, const struct perfdata_bytes *raw,
		       const char *field, char *text, size_t size);

/* The output buffer. Zero-initialised means empty. */
struct event_printer {
	uint8_t *bytes; /* an event, followed by zeros */
	size_t used;
	char *text;
};
void event_printer_release(struct event_printer *printer);

/* Formats the fields as the kernel prints them, or as `NAME=VALUE` if libtraceevent cannot handle
 * the format: one printable line in `printer->text`. Returns 0, -EINVAL if too large, or
 * -ENOMEM. */
int event_format_print(struct event_format *format, const struct perfdata_bytes *raw,
		       struct event_printer *printer) _must_check_;

#endif
