/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SHARED_UTF8_H
#define SHARED_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Decodes the character at s. Returns its length in bytes, or 0 if it is not UTF-8. */
size_t utf8_decode(const char *s, uint32_t *code);

/* Replaces bytes that are not UTF-8 by '?', in place, for JSON: names of tasks and files are
 * arbitrary bytes. Returns s. */
char *utf8_repair(char *s);

#endif
