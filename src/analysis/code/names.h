/* SPDX-License-Identifier: GPL-2.0-only */
/* Interns strings as numbers. */
#ifndef DECODE_NAMES_H
#define DECODE_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "util.h"

/* Longer strings are truncated; the format allows 32000. */
#define NAMES_LENGTH_MAX 1000

struct names;

int names_new(struct names **ret) _must_check_;
void names_free(struct names *names);

/* The number of a string; 0 if empty, or out of memory. Replaces invalid UTF-8. */
uint32_t names_add(struct names *names, const char *s);

const char *names_get(const struct names *names, uint32_t name);
size_t names_length(const struct names *names, uint32_t name);

/* One more than the largest number. */
uint32_t names_count(const struct names *names);

/* Returns -ENOMEM if a string was lost. */
int names_error(const struct names *names);

#endif
