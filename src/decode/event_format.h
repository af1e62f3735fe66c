/* SPDX-License-Identifier: GPL-2.0-only */
/* The format of one tracepoint, by libtraceevent: where its fields are, and how they are printed. A
 * stranger's may be any text: libtraceevent is only given what it can take. */
#ifndef DECODE_EVENT_FORMAT_H
#define DECODE_EVENT_FORMAT_H

#include "tracing_data.h"

struct event_format;

/* The function of the kernel at an address, for `%ps` in formats; NULL: not known. *start is set to
 * where it begins. */
typedef const char *event_resolver(void *context, uint64_t address, uint64_t *start);

/* `data` must stay. Returns 0, -EINVAL: it is no format, or -ENOMEM. */
int event_format_new(struct event_format **ret, const struct tracing_data *data,
		     const struct tracing_format *text) _must_check_;
void event_format_free(struct event_format *format);

const char *event_format_name(const struct event_format *format);

/* Returns 0 or -ENOMEM. */
int event_format_resolve(struct event_format *format, event_resolver *resolver,
			 void *context) _must_check_;

/* A field that is a number, extended by its sign. False: there is none, or not in these bytes. */
bool event_format_number(const struct event_format *format, const struct perfdata_bytes *raw,
			 const char *field, uint64_t *value);

/* A field that is text, cut to `size` with its NUL. False, and "": there is none. */
bool event_format_text(const struct event_format *format, const struct perfdata_bytes *raw,
		       const char *field, char *text, size_t size);

/* What is printed into. All zero is empty. */
struct event_printer {
	uint8_t *bytes; /* of an event, then zeros */
	size_t used;
	char *text;
};
void event_printer_release(struct event_printer *printer);

/* The fields as the kernel prints them, or `NAME=VALUE` for each where the format is not one that
 * libtraceevent may be given. One line, as a terminal may show it, in `printer->text`. Returns 0,
 * -EINVAL: it is too large, or -ENOMEM. */
int event_format_print(struct event_format *format, const struct perfdata_bytes *raw,
		       struct event_printer *printer) _must_check_;

#endif
