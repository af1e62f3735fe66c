/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Makes untrusted text safe for a terminal: names of tasks, functions and files, and the output of
 * other programs. */
#ifndef SHARED_PRINTABLE_H
#define SHARED_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether a terminal displays the character instead of interpreting it. */
bool printable_code(uint32_t code);

/* Replaces unsafe characters by a space and bytes that are not UTF-8 by '?', in place. Returns
 * s. */
char *printable(char *s);

/* The same for a copy, truncated to size - 1 bytes. Returns buf. */
const char *printable_copy(char *buf, size_t size, const char *text);

#define CLEAN(text) printable_copy((char[256]){ 0 }, 256, text)
#define CLEAN_TO(size, text) printable_copy((char[(size) + 1]){ 0 }, (size) + 1, text)

#endif
