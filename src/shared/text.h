/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Strings: of names and messages that may be untrusted, for terminals and JSON. */
#ifndef SHARED_TEXT_H
#define SHARED_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "util.h"

/* asprintf() that returns the allocated string, or NULL if out of memory. */
char *strfmt(const char *format, ...) _printf_(1, 2) _must_check_;

/* Prefixes and suffixes of strings. */
static inline bool has_prefix(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

static inline bool has_suffix(const char *text, const char *suffix)
{
	size_t length = strlen(text), wanted = strlen(suffix);

	return length >= wanted && !strcmp(text + length - wanted, suffix);
}

static inline bool text_is_among(const char *text, const char *const *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (!strcmp(text, list[i]))
			return true;
	}
	return false;
}

/* Decodes the character at s. Returns its length in bytes, or 0 if it is not UTF-8. */
size_t utf8_decode_character(const char *s, uint32_t *code);

/* Replaces bytes that are not UTF-8 by '?', in place, for JSON: names of tasks and files are
 * arbitrary bytes. Returns s. */
char *utf8_repair_text(char *s);

/* Makes untrusted text safe for a terminal: names of tasks, functions and files, and the output of
 * other programs. */
/* Whether a terminal displays the character instead of interpreting it. */
bool is_printable_code(uint32_t code);

/* Replaces unsafe characters by a space and bytes that are not UTF-8 by '?', in place. Returns
 * s. */
char *text_make_printable(char *s);

/* The same for a copy, truncated to size - 1 bytes. Returns buf. */
const char *text_copy_printable(char *buf, size_t size, const char *text);

#define CLEAN(text) text_copy_printable((char[256]){ 0 }, 256, text)
#define CLEAN_TO(size, text) text_copy_printable((char[(size) + 1]){ 0 }, (size) + 1, text)

/* Sets *why to the reason of a failure, allocated and printable. Returns err, or -ENOMEM
 * without *why. */
int say_why(char **why, int err, const char *format, ...) _printf_(3, 4);

/* Appends to a list such as "one, two"; NULL is empty. Out of memory, the list becomes NULL. */
void text_list_append(char **list, const char *item);

#endif
