/* SPDX-License-Identifier: GPL-2.0-only */
/* Interns strings: each is kept once and identified by a number. */
#ifndef DECODE_NAMES_H
#define DECODE_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "util.h"

/* Longer ones are truncated; the format's own limit is 32000. */
#define NAMES_LENGTH_MAX 1000

struct names;

int names_new(struct names **ret) _must_check_;
void names_free(struct names *names);

/* The number of a string; 0 for the empty one, or if out of memory. Invalid UTF-8 is replaced. */
uint32_t names_add(struct names *names, const char *s);

const char *names_get(const struct names *names, uint32_t name);
size_t names_length(const struct names *names, uint32_t name);

/* One more than the largest number. */
uint32_t names_count(const struct names *names);

/* -ENOMEM once a string could not be kept. */
int names_error(const struct names *names);

#endif
