/* SPDX-License-Identifier: GPL-2.0-only */
/* What of the format of a tracepoint libtraceevent may be given: its parser and what it prints with
 * trust what the kernel wrote. */
#ifndef DECODE_FORMAT_TEXT_H
#define DECODE_FORMAT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Whether what is before `print fmt:` is as the kernel lays it out: a name, an id, fields. */
bool format_text_head_is_plain(const char *text, size_t size);

/* Whether the event has a field of that name. It has no NUL behind it. */
typedef bool format_text_field(const void *context, const char *name, size_t length);

/* Whether what is behind `print fmt:` is harmless. libtraceevent believes names and lengths that
 * are in it and in an event, divides by what is in an event, and recurses as deep as a text is
 * nested: what can make it read past an event, fail, or need much stack or memory is refused. */
bool format_text_print_is_plain(const char *text, size_t size, format_text_field *has_field,
				const void *context);

#endif
