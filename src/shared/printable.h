/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Text from elsewhere on a terminal: names of tasks, functions and files, and what programs say. */
#ifndef SHARED_PRINTABLE_H
#define SHARED_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether a terminal shows the character, and does not act on it. */
bool printable_code(uint32_t code);

/* Makes one line of it in place: a space for each character that a terminal acts on, and '?' for
 * each byte that is not UTF-8. Returns s. */
char *printable(char *s);

/* The same of a copy, cut to size - 1 bytes. Returns buf. */
const char *printable_copy(char *buf, size_t size, const char *text);

#define CLEAN(text) printable_copy((char[256]){ 0 }, 256, text)
#define CLEAN_TO(size, text) printable_copy((char[(size) + 1]){ 0 }, (size) + 1, text)

#endif
