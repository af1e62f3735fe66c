/* SPDX-License-Identifier: GPL-2.0-only */
/* Decides which parts of a tracepoint's format go to libtraceevent, whose parser and printer trust
 * their input. */
#ifndef DECODE_FORMAT_TEXT_H
#define DECODE_FORMAT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the part before `print fmt:` has the kernel's layout: a name, an ID, fields. */
bool format_text_head_is_plain(const char *text, size_t size);

/* Whether the event has a field of this name, which may lack a NUL. */
typedef bool format_text_field(const void *context, const char *name, size_t length);

/* Whether the part after `print fmt:` is harmless. libtraceevent trusts names and lengths in
 * formats and events, divides by values of events, and recurses as deep as the text nests. Rejects
 * what could make it read beyond an event, fail, or take much stack or memory. */
bool format_text_print_is_plain(const char *text, size_t size, format_text_field *has_field,
				const void *context);

#endif
